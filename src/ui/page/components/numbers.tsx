export type Bar = { label: string; values: (number | undefined)[] };
/** `item`: heading of the labels. `series`: names of the values. */
type NumbersProps = { title: string; item: string; series: readonly string[]; bars: readonly Bar[] };

/** The numbers of a plot as a table, for screen readers and for who wants exact values. In yuan. */
export function Numbers({ title, item, series, bars }: NumbersProps) {
  return (
    <details>
      <summary>Numbers of: {title}</summary>
      <table>
        <caption class="hidden">{title}</caption>
        <thead>
          <tr>
            <th scope="col">{item}</th>
            {series.map((name) => (
              <th key={name} scope="col">
                {name} (yuan)
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {bars.map(({ label, values }) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              {values.map((value, index) => (
                <td key={series[index]}>{value === undefined ? "-" : value.toLocaleString()}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
