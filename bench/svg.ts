/** Plots as SVG text: bars with their spread, and curves on logarithmic axes. */

export type Bar = { name: string; value: number; low: number; high: number };
export type BarGroup = { title: string; bars: readonly Bar[] };
export type Curve = { name: string; points: readonly { x: number; y: number }[] };

const [WIDTH, HEIGHT] = [720, 300];
/** Margins of the area of curves. */
const [LEFT, RIGHT, TOP, BOTTOM] = [64, 150, 36, 44];
const COLORS = ["#0b6bcb", "#c2410c", "#15803d", "#7e22ce", "#4b5563"];

const escaped = (text: string) => text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);
const colorOf = (index: number) => COLORS[index % COLORS.length] ?? "black";
const fixed = (value: number) => value.toFixed(1);

function label(text: string, x: number, y: number, anchor: "start" | "middle" | "end" = "start"): string {
  return `<text x="${fixed(x)}" y="${fixed(y)}" text-anchor="${anchor}">${escaped(text)}</text>`;
}

type Point = { x: number; y: number };

function line(from: Point, to: Point, style: string): string {
  return `<line x1="${fixed(from.x)}" y1="${fixed(from.y)}" x2="${fixed(to.x)}" y2="${fixed(to.y)}" ${style}/>`;
}

const GRID = 'stroke="#d1d5db"';

function picture(title: string, height: number, content: readonly string[]): string {
  const size = `width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}"`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="12" role="img">`;
  const frame = `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`;
  const head = `<text x="12" y="22" font-weight="bold">${escaped(title)}</text>`;
  return [svg, `<title>${escaped(title)}</title>`, frame, head, ...content, "</svg>", ""].join("\n");
}

/** Horizontal bars in groups, each with a line from its lowest to its highest value. A vertical line marks 1. */
export function barChart(title: string, groups: readonly BarGroup[]): string {
  const [nameWidth, row] = [230, 20];
  const most = Math.max(1, ...groups.flatMap(({ bars }) => bars.map(({ high }) => high))) * 1.1;
  const xOf = (value: number) => nameWidth + (value / most) * (WIDTH - nameWidth - 70);
  let y = TOP;
  const content: string[] = [];
  for (const { title: group, bars } of groups) {
    y += row;
    content.push(`<text x="12" y="${y}" fill="#4b5563">${escaped(group)}</text>`);
    for (const [index, { name, value, low, high }] of bars.entries()) {
      y += row;
      const middle = y - 4;
      const box = `x="${nameWidth}" y="${middle - 6}" width="${fixed(xOf(value) - nameWidth)}" height="12"`;
      content.push(
        label(name, nameWidth - 8, y, "end"),
        `<rect ${box} fill="${colorOf(index)}" fill-opacity="0.75"/>`,
        line({ x: xOf(low), y: middle }, { x: xOf(high), y: middle }, 'stroke="#111827" stroke-width="2"'),
        label(value.toFixed(2), xOf(Math.max(value, high)) + 6, y),
      );
    }
  }
  content.push(line({ x: xOf(1), y: TOP }, { x: xOf(1), y: y + 8 }, 'stroke="#111827" stroke-dasharray="4 3"'));
  return picture(title, y + 20, content);
}

/** A scale from values to pixels: decades have the same length. The range is at least one decade. */
function decades(values: readonly number[], from: number, to: number) {
  const known = values.filter((value) => value > 0);
  const first = Math.floor(Math.log10(Math.min(...known)));
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...known))));
  return {
    ticks: Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index)),
    at: (value: number) => from + ((Math.log10(value) - first) / (last - first)) * (to - from),
  };
}

const shown = (value: number) => (value >= 1 ? value.toLocaleString("en-US") : String(Number(value.toPrecision(1))));

/** Curves on two logarithmic axes. Values that are not positive are left out. */
export function curveChart(title: string, xTitle: string, curves: readonly Curve[]): string {
  const points = curves.flatMap((curve) => curve.points.filter(({ x, y }) => x > 0 && y > 0));
  if (points.length === 0) return picture(title, HEIGHT, []);
  const xs = decades(
    points.map(({ x }) => x),
    LEFT,
    WIDTH - RIGHT,
  );
  const ys = decades(
    points.map(({ y }) => y),
    HEIGHT - BOTTOM,
    TOP,
  );
  const grid = [
    ...ys.ticks.flatMap((tick) => {
      const y = ys.at(tick);
      return [line({ x: LEFT, y }, { x: WIDTH - RIGHT, y }, GRID), label(shown(tick), LEFT - 6, y + 4, "end")];
    }),
    ...xs.ticks.flatMap((tick) => {
      const x = xs.at(tick);
      return [
        line({ x, y: TOP }, { x, y: HEIGHT - BOTTOM }, GRID),
        label(shown(tick), x, HEIGHT - BOTTOM + 16, "middle"),
      ];
    }),
    label(xTitle, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "middle"),
  ];
  const drawn = curves.flatMap((curve, index) => {
    const at = curve.points.filter(({ x, y }) => x > 0 && y > 0).map(({ x, y }) => ({ x: xs.at(x), y: ys.at(y) }));
    const path = at.map(({ x, y }) => `${fixed(x)},${fixed(y)}`).join(" ");
    const color = colorOf(index);
    const legend = { x: WIDTH - RIGHT + 12, y: TOP + 16 + index * 18 };
    return [
      `<polyline points="${path}" fill="none" stroke="${color}" stroke-width="2"/>`,
      ...at.map(({ x, y }) => `<circle cx="${fixed(x)}" cy="${fixed(y)}" r="3" fill="${color}"/>`),
      line(
        { x: legend.x, y: legend.y - 4 },
        { x: legend.x + 16, y: legend.y - 4 },
        `stroke="${color}" stroke-width="3"`,
      ),
      label(curve.name, legend.x + 22, legend.y),
    ];
  });
  return picture(title, HEIGHT, [...grid, ...drawn]);
}
