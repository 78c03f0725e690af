import { render } from "preact";
import { App } from "./app.tsx";
import { applyTheme, readTheme } from "./color-scheme.ts";

const container = document.getElementById("app");
if (container === null) throw new Error("the page has no element with the id app");
applyTheme(readTheme());
render(<App />, container);
