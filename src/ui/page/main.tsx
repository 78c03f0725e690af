import { render } from "preact";
import { App } from "./app.tsx";
import { applyTheme, readTheme } from "./color-scheme.ts";
import { takeToken } from "./sign-in.ts";

const container = document.getElementById("app");
if (container === null) throw new Error("the page has no element with the id app");
applyTheme(readTheme());
takeToken();
// The printed URL may be opened where the page is open already: that loads nothing.
window.addEventListener("hashchange", takeToken);
render(<App />, container);
