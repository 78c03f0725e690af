/** The sum of a metric's series whose labels contain `labels`, in Prometheus' text format. */
export function metric(text: string, name: string, labels = ""): number {
  return text
    .split("\n")
    .filter((line) => line.startsWith(name) && !/^[a-z_]/.test(line.slice(name.length)) && line.includes(labels))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}
