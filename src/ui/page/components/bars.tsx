/** `limit`: a line on the bar. Amounts are in yuan; undefined: not known. */
export type Bar = { label: string; amount: number | undefined; limit?: number | undefined };

/** Amounts as horizontal bars with their values, one a line. All bars have one scale. */
export function Bars({ title, bars }: { title: string; bars: readonly Bar[] }) {
  const longest = Math.max(...bars.flatMap(({ amount = 0, limit = 0 }) => [amount, limit]), 0.0001);
  const share = (amount: number) => `${(Math.max(0, amount) / longest) * 100}%`;
  return (
    <table class="bars">
      <caption>{title}</caption>
      <tbody>
        {bars.map(({ label, amount, limit }) => (
          <tr key={label}>
            <th scope="row">{label}</th>
            <td>
              <div class="track">
                <div
                  class={limit !== undefined && (amount ?? 0) > limit ? "bar over" : "bar"}
                  style={{ width: share(amount ?? 0) }}
                />
                {limit !== undefined && <div class="limit" style={{ left: share(limit) }} />}
              </div>
            </td>
            <td class="amount">
              {yuan(amount)}
              {limit !== undefined && <span class="quiet"> of {yuan(limit)}</span>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function yuan(amount: number | undefined): string {
  return amount === undefined ? "-" : `¥${amount.toLocaleString(undefined, { maximumFractionDigits: 4 })}`;
}
