// Where there is little room, what opens covers the page: the conversations, the files, a dialog, the plan unfolded. It
// has one entry of the history, so that Back closes it and stays. Closed otherwise, it takes its entry away.
const cover = (() => {
  const narrow = matchMedia("(width < 60rem)");
  const COVERS = "dialog:modal, #sidebar:popover-open, .dock[data-plan-whole] #todo-panel";
  const open = () => (narrow.matches ? [...document.querySelectorAll(COVERS)] : []);
  const hasEntry = () => Boolean(history.state?.cover);
  // Or else the content of another entry is on its way.
  const isHere = () => location.pathname === shown.path && !document.querySelector("#content[aria-busy]");
  let leaving = false; // whether the entry is being taken away

  const closed = () => {
    if (leaving || !isHere() || !hasEntry() || open().length) return;
    leaving = true;
    history.back();
  };
  const opened = () => {
    if (leaving || !isHere() || hasEntry() || !open().length) return closed();
    history.pushState({ cover: true }, "");
    globalThis.navigation?.updateCurrentEntry({ state: { cover: true } });
  };
  const close = (each) => {
    if (each.matches("dialog")) each.close();
    else if (each.popover) each.hidePopover();
    else each.querySelector("summary").click();
  };

  addEventListener("popstate", () => {
    const wasLeaving = leaving;
    leaving = false;
    if (wasLeaving) return opened(); // what was opened since then
    if (isHere() && !hasEntry()) open().forEach(close);
    closed();
  });
  document.addEventListener("toggle", ({ target }) => target.matches("dialog, #sidebar") && opened(), true);
  document.addEventListener("close", closed, true);
  narrow.addEventListener("change", closed);
  onContent(closed);
  return { opened, closed };
})();
