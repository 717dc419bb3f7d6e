// What several behaviours use. Scripts are joined into one file, so these names are known in all of them.

// The content that is shown: its path, which the address is ahead of while the next is fetched; its end; whether the
// user came back to it, and is where they left it; and the path of a page that is on its way, unless a form leads there.
const shown = { path: location.pathname, gone: new AbortController(), restored: null, next: "" };

// Calls `start` when the page is there, and again for each content that another page puts in its place. `start` is given
// a signal for its listeners and timers beyond the content, which end with it.
function onContent(start) {
  const run = () => start(shown.gone.signal);
  addEventListener("DOMContentLoaded", run);
  addEventListener("content", run);
}

// A random UUID. crypto.randomUUID exists only on https and localhost, and the site may be served to a home network.
const uuid = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
};

// The line of the page that says why something was not done.
const noteLine = () =>
  document.querySelector("dialog[open] [data-note]") ?? document.getElementById("composer-note") ?? document.getElementById("act-note");
// Where nobody writes, nothing else would take it away again.
let noteGoes = 0;
const note = (text, isQuiet = false) => {
  const line = noteLine();
  line.textContent = text;
  line.toggleAttribute("data-quiet", isQuiet);
  line.hidden = !text;
  clearTimeout(noteGoes);
  if (text && line.id === "act-note") noteGoes = setTimeout(() => (line.hidden = true), 10000);
};

// It goes with the next thing that is done; that a message waits stays.
const forgetNote = () => {
  if (noteLine().textContent !== document.getElementById("composer-text")?.dataset.unsent) note("");
};

// Says above the page, and above what covers it, that something did not reach the server; for a while, or until it is
// touched or the connection is back.
const warnLost = (text = document.getElementById("content").dataset.lost) => {
  document.querySelector(".warning")?.remove();
  const line = document.createElement("p");
  Object.assign(line, { className: "warning", role: "alert", popover: "manual" });
  (document.querySelector("dialog[open]") ?? document.body).append(line);
  line.showPopover();
  line.textContent = text; // once it is there, or it would not be read out
  line.addEventListener("click", () => line.remove());
  setTimeout(() => line.remove(), 10_000);
};
addEventListener("live", () => document.querySelector(".warning")?.remove());
// So of what the user asked for, but not of what the page fetches by itself.
document.addEventListener("htmx:error", ({ detail: { ctx } }) => {
  const byItself = ["intersect", "load", "files-changed", "complete"].includes(ctx?.sourceEvent?.type);
  const saysSo = "[role=combobox], .files__upload, #files-body:not(:has(#files, .files--one))";
  if (ctx && !ctx.response && !byItself && !ctx.sourceElement.matches(saysSo)) warnLost();
});

// The heights of turns that are out of view are guesses. Those that are in view with `place`, it beneath them, are laid
// out, so that it stays where it is put.
const layOutAbove = (place) => {
  const room = document.getElementById("scroll")?.clientHeight;
  const above = (turn) => place.getBoundingClientRect().top - turn.getBoundingClientRect().top;
  for (let turn = place.closest(".turn"); turn?.matches(".turn"); turn = turn.previousElementSibling) {
    turn.dataset.rendered = "";
    if (above(turn) > room) return;
  }
};

// Turns above those on the page, from the first of these on. They take the place of `earlier`, which stands for them.
const fetchTurns = (earlier, first) =>
  htmx.ajax("GET", `${earlier.getAttribute("hx-get")}?from=${first}`, { source: earlier, target: earlier, swap: "outerHTML" });

const isTouch = () => matchMedia("(pointer: coarse)").matches;
// Whether the user pressed a key after the last touch or click. Then a field may take the focus also where a finger is
// the pointer: a keyboard that is on the screen is up already.
let byKey = false;
addEventListener("pointerdown", () => (byKey = false), true);
addEventListener("keydown", () => (byKey = true), true);
const raisesKeyboard = () => isTouch() && !byKey;
// Whether an input method takes the key for itself, as Enter to confirm a candidate; 229 is how Safari says so.
const isComposing = (event) => event.isComposing || event.keyCode === 229;

// Posts a form as the page's own script: the server answers with what to show, not with a page.
const post = (address, body) => fetch(address, { method: "POST", body, headers: { "HX-Request": "true" } });

// The text of such an answer. Anything else than plain text is a page: of the login, or of an error.
const plainText = async (answer) => (answer.headers.get("Content-Type")?.startsWith("text/plain") ? answer.text() : "");

// The answer of an address, which raises where that is refused; and a message as it was written.
const fetched = async (address) => {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(answer.status);
  return answer;
};
const fetchMessage = async ({ id }) => plainText(await fetched(`${shown.path}messages/${id.slice("message-".length)}/`));

// HTML as a document of its own, which loads and runs nothing.
const parsed = (html) => new DOMParser().parseFromString(html, "text/html");

// Storage of the browser. Where it is switched off, nothing is kept.
const storage = (name) => ({
  get(key) {
    try {
      return window[name].getItem(key);
    } catch {
      return null;
    }
  },
  set(key, value) {
    try {
      if (value) window[name].setItem(key, value);
      else window[name].removeItem(key);
    } catch {}
  },
  keys(prefix) {
    try {
      return Object.keys(window[name]).filter((key) => key.startsWith(prefix));
    } catch {
      return [];
    }
  },
});
const kept = storage("localStorage");
const keptInTab = storage("sessionStorage");

// Where the composer of a page keeps what is typed, by user and path: for this tab, and for those that are opened later.
const draftKey = (path) => `draft ${document.documentElement.dataset.user} ${path}`;
// What another tab, or a later message, has there stays.
const forgetDraft = (path, id) => {
  for (const each of [kept, keptInTab]) {
    if (JSON.parse(each.get(draftKey(path)) || "{}").client_id === id) each.set(draftKey(path), null);
  }
};
