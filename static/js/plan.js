// Steps through a plan's revisions: the slider asks for the one that it is moved to, and the arrow keys, the arrows beside
// it and an entry's link move the slider. Where the latest is shown, the page follows the work on it.
onContent((signal) => {
  const plan = document.getElementById("plan");
  if (!plan) return;
  const stage = () => document.getElementById("plan-stage");
  const slider = () => stage().querySelector("[name='revision']");
  const now = () => Number(stage().dataset.revision);

  // Where the story stands beneath the stage, as on a phone, it would push the stage off the screen.
  const isBeside = (entry) => entry.getBoundingClientRect().left >= stage().getBoundingClientRect().right;
  let moved = false; // the page opens at its top
  let pressed = ""; // the arrow beside the slider that has the keyboard, which is drawn anew
  const mark = () => {
    for (const entry of plan.querySelectorAll("[data-number][aria-current]")) entry.removeAttribute("aria-current");
    const entry = plan.querySelector(`[data-number="${now()}"]`);
    entry?.setAttribute("aria-current", "true");
    if (entry && moved && isBeside(entry)) entry.scrollIntoView({ block: "nearest" });
  };
  const showStage = (entry) => isBeside(entry) || stage().scrollIntoView();
  const step = (number, arrow = "") => {
    pressed = arrow;
    const before = slider().value;
    slider().value = number; // no further than the slider goes
    if (slider().value !== before) slider().dispatchEvent(new Event("input", { bubbles: true }));
  };

  document.addEventListener("htmx:after:swap", ({ detail }) => {
    if (detail.ctx.target?.id !== "plan-stage") return; // the sidebar changes, too
    history.replaceState(history.state, "", `?revision=${now()}`);
    moved = true;
    mark();
    if (pressed) (stage().querySelector(`[rel="${pressed}"]`) ?? slider()).focus({ preventScroll: true });
    pressed = "";
  }, { signal });
  const reload = () => slider().form.submit();
  document.addEventListener("htmx:response:error", reload, { signal });
  document.addEventListener("htmx:error", reload, { signal });
  plan.addEventListener("click", (event) => {
    const link = event.target.closest("[data-step], [rel='prev'], [rel='next']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    step(Number(new URL(link.href).searchParams.get("revision")), link.rel);
    if (!link.rel) showStage(link);
  });
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, textarea, select, [contenteditable]")) return;
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (way) step(Number(slider().value) + way, event.target.rel);
  }, { signal });

  // The arrow at the page's top leads to where the user came from, as Back does, if that is the conversation.
  document.querySelector(".bar__back").addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const before = globalThis.navigation?.entries().slice(0, navigation.currentEntry.index) ?? [];
    const came = before.findLast(({ url }) => new URL(url).pathname !== location.pathname);
    if (!came || new URL(came.url).pathname !== event.currentTarget.pathname) return;
    event.preventDefault();
    history.go(came.index - navigation.currentEntry.index);
  }, { signal });

  // The sidebar is told how far the plan is, and when the work ends.
  const row = () => document.querySelector(`#sidebar a[href="${new URL("..", location.href).pathname}"]`)?.closest(".conversation-row");
  const progress = () => row() && `${row().querySelector(".conversation-row__plan").textContent} ${row().querySelector(".conversation-row__active")?.dataset.status}`;
  let known = progress();
  let isDue = false;
  const follow = async () => {
    if (isDue) return;
    isDue = true;
    await new Promise((resolve) => setTimeout(resolve, 300)); // several changes come at once
    isDue = false;
    if (signal.aborted) return;
    const number = slider().value;
    const isLatest = number === slider().max;
    const asked = fetch(isLatest ? location.pathname : `?revision=${number}`, { signal });
    const page = await asked.then((answer) => (answer.ok ? answer.text() : "")).catch(() => "");
    if (!page) return;
    if (slider().value !== number) return follow(); // what the user goes to meanwhile is another one
    await htmx.swap({ sourceElement: document.body, target: "#content", swap: "none", selectOOB: "#plan:outerMorph", text: page });
    if (isLatest) history.replaceState(history.state, "", location.pathname);
    mark();
  };
  document.addEventListener("htmx:ws:after:message:incoming", () => {
    if (progress() === known) return;
    known = progress();
    follow();
  }, { signal });

  // Where the stage is beside the story it stays in view, so a link to an item of it led anywhere in the story.
  const showItem = (item) => {
    const entry = plan.querySelector(`[data-number="${now()}"]`);
    if (!entry || !isBeside(entry)) return;
    document.getElementById("content").scrollTop = 0;
    item.scrollIntoView({ block: "nearest" });
    if (new URLSearchParams(location.search).has("revision")) entry.scrollIntoView({ block: "nearest" });
  };
  const afterBrowser = (show) => {
    show();
    if (document.readyState !== "complete") addEventListener("load", show, { signal });
  };

  mark();
  const entry = document.getElementById(location.hash.slice(1));
  if (entry && stage().contains(entry) && !shown.restored) afterBrowser(() => showItem(entry));
  const named = Number(entry?.dataset.number);
  if (!named) return;
  afterBrowser(() => showStage(entry));
  if (slider().form.hasAttribute("data-htmx-powered")) step(named);
  else plan.addEventListener("htmx:after:init", () => step(named), { once: true });
});
