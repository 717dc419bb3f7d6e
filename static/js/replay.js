// Plays a conversation again: hides what the server drew, and reveals it in order at reading speed.
addEventListener("DOMContentLoaded", () => {
  const root = document.getElementById("replay");
  if (!root || !root.querySelector(".turn")) return;
  const part = (name) => root.querySelector(`.replay__${name}`);
  const slot = part("panel");
  const slider = part("slider");
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  // A beat is one thing that appears or changes: `wait` milliseconds after the one before it.
  const LONGEST = 1500;
  const FOLDS = 800;
  const beats = [];
  const bounded = (value, least, most) => Math.min(Math.max(value || 0, least), most);
  const reading = (text) => bounded(text.trim().length * 33, 200, 3000); // thirty characters a second
  let moment = 0; // of the row before, in seconds
  let read = 0; // milliseconds that its text takes
  const add = (element, kind, wait) => beats.push({ element, kind, wait });
  const gap = (element) => {
    const at = Number(element.dataset.at) || moment;
    const passed = moment ? (at - moment) * 1000 : 0;
    moment = Math.max(at, moment);
    const wait = Math.max(bounded(passed, 250, LONGEST), read);
    read = 0;
    return wait;
  };

  const addMessage = (message) => {
    const body = message.querySelector(".message__body");
    const blocks = message.dataset.role === "assistant" && body ? [...body.children] : [];
    add(message, "row", gap(message));
    for (const [place, block] of blocks.entries()) {
      add(block, "block", place ? reading(blocks[place - 1].textContent) : 0);
    }
    read = reading(blocks.at(-1)?.textContent ?? body?.textContent ?? "");
  };
  const addCall = (call) => {
    call.dataset.ends = call.dataset.status;
    add(call, "row", gap(call));
    add(call, "end", bounded(Number(call.dataset.took) * 1000, 200, LONGEST));
    moment += Number(call.dataset.took) || 0;
  };
  // While a group plays, its calls show; then they fold to its line, as on the conversation's page.
  const addGroup = (group) => {
    const line = group.querySelector(":scope > .call-group__line:not([hidden])");
    for (const row of group.children) if (row !== line) addRow(row);
    if (line) add(line, "row", FOLDS);
  };
  const addRow = (row) => {
    if (row.hidden) return;
    if (row.matches(".call-group")) addGroup(row);
    else if (row.matches(".message")) addMessage(row);
    else if (row.matches(".tool-call")) addCall(row);
    else add(row, row.matches("template") ? "panel" : "row", gap(row));
  };
  for (const turn of root.querySelectorAll(".turn")) {
    add(turn, "row", 0);
    for (const row of turn.querySelector(".turn__rows").children) addRow(row);
    for (const row of turn.querySelectorAll(":scope > .turn__end, :scope > template")) addRow(row);
  }

  let shown = 0; // so many beats have come
  let timer = 0;
  const plays = () => root.hasAttribute("data-playing");

  const reveal = ({ element, kind }, visible) => {
    if (kind === "panel") return;
    if (kind !== "end") element.hidden = !visible;
    if (element.matches(".tool-call")) element.dataset.status = kind === "end" && visible ? element.dataset.ends : "running";
  };
  const showPanel = () => {
    const last = beats.slice(0, shown).findLast((beat) => beat.kind === "panel")?.element;
    if (last === slot.from) return;
    slot.from = last;
    slot.replaceChildren(...(last ? [last.content.cloneNode(true)] : []));
    const list = slot.querySelector(".todo-panel__list");
    const item = list?.querySelector("[data-status='in_progress']");
    if (item) list.scrollTop = item.offsetTop - list.offsetTop - list.clientHeight / 2;
  };
  const follow = (behavior) => {
    const last = beats.slice(0, shown).findLast((beat) => beat.kind !== "panel")?.element;
    const room = innerHeight - part("dock").offsetHeight - 16;
    const below = last ? last.getBoundingClientRect().bottom - room : 0;
    if (below > 0) scrollBy({ top: below, behavior });
    else if (last && last.getBoundingClientRect().bottom < 0) last.scrollIntoView({ block: "center", behavior: "instant" });
  };
  // What was never in view has only an estimated height until it is drawn, so one leads there again for some frames.
  let frame = 0;
  const arrive = (frames = 20) => {
    follow("instant");
    if (frames) frame = requestAnimationFrame(() => arrive(frames - 1));
  };
  const go = (place) => {
    const next = bounded(place, 0, beats.length);
    const isJump = Math.abs(next - shown) > 1;
    for (; shown < next; shown++) reveal(beats[shown], true);
    for (; shown > next; shown--) reveal(beats[shown - 1], false);
    slider.value = shown;
    slider.setAttribute("aria-valuetext", `${shown} / ${beats.length}`);
    part("place").value = `${shown} / ${beats.length}`;
    root.dataset.shown = shown;
    showPanel();
    cancelAnimationFrame(frame);
    if (isJump) arrive();
    else follow(still.matches ? "instant" : "smooth");
  };

  const pause = () => {
    clearTimeout(timer);
    root.removeAttribute("data-playing");
    part("play").ariaLabel = part("play").dataset.play;
  };
  const next = () => {
    clearTimeout(timer);
    if (shown >= beats.length) return pause();
    const speed = Number(part("speed").querySelector("select").value);
    timer = setTimeout(() => {
      go(shown + 1);
      next();
    }, beats[shown].wait / speed);
  };
  const play = () => {
    if (shown >= beats.length) go(0);
    root.setAttribute("data-playing", "");
    part("play").ariaLabel = part("play").dataset.pause;
    next();
  };
  // A step passes over what only prepares the next thing to be seen, and a list changes with what tells of it.
  const isBetween = () => beats[shown - 1].element.matches(".turn, .who") || beats[shown].kind === "panel";
  const step = (way) => {
    pause();
    do go(shown + way);
    while (shown > 0 && shown < beats.length && isBetween());
  };
  const toggle = () => (plays() ? pause() : play());

  part("play").addEventListener("click", toggle);
  part("back").addEventListener("click", () => step(-1));
  part("step").addEventListener("click", () => step(1));
  part("speed").addEventListener("change", () => plays() && next());
  slider.addEventListener("input", () => {
    pause();
    go(Number(slider.value));
  });
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("select, textarea, input:not(.replay__slider)")) return;
    const act = { ArrowLeft: () => step(-1), ArrowRight: () => step(1), Home: () => step(-beats.length), End: () => step(beats.length) }[event.key];
    const speeds = ["1", "2", "4"];
    if (act) act();
    else if (event.key === " " && !event.target.closest("button, a, summary")) toggle();
    else if (speeds.includes(event.key)) {
      part("speed").querySelector("select").value = event.key;
      if (plays()) next();
    } else return;
    event.preventDefault();
  });

  slider.max = beats.length;
  part("dock").hidden = false;
  shown = beats.length;
  go(0);
  root.setAttribute("data-ready", "");
  if (still.matches) step(1);
  else play();
});
