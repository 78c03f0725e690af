type Labels = { [name: string]: string };

/** What a process shows at /metrics. */
export type Series = {
  /** Of the one series that has these labels; undefined: there is none. */
  value(name: string, labels?: Labels): number | undefined;
  sum(name: string, labels?: Labels): number;
  /** The values of a metric by one label. */
  of(name: string, label: string): Record<string, number>;
};

export function seriesOf(text: string): Series {
  const all = [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name = "", labels = "", value]) => ({
    name,
    labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, text]) => [key, text])),
    value: Number(value),
  }));
  const matching = (name: string, labels: Labels = {}) =>
    all.filter((one) => one.name === name && Object.entries(labels).every(([key, text]) => one.labels[key] === text));
  return {
    value(name, labels) {
      const [first, ...others] = matching(name, labels);
      if (others.length > 0) throw new Error(`${name} has ${others.length + 1} series with ${JSON.stringify(labels)}`);
      return first?.value;
    },
    sum: (name, labels) => matching(name, labels).reduce((sum, { value }) => sum + value, 0),
    of: (name, label) => Object.fromEntries(matching(name).map(({ labels, value }) => [labels[label], value])),
  };
}
