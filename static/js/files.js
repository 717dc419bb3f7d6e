// The panel of files beside the chat: open as it was left, and up to date while the agent works.
onContent((signal) => {
  const panel = document.getElementById("files-panel");
  const transcript = document.getElementById("transcript");
  if (!panel || !transcript) return;
  const wide = matchMedia("(width >= 75rem)");
  const isOpen = () => panel.matches(":popover-open");
  const tell = (id, what) => document.getElementById(id)?.dispatchEvent(new Event(what));

  panel.addEventListener("toggle", () => {
    if (isOpen()) tell("files-body", "files-show");
    kept.set("files-panel", isOpen() ? "open" : "closed");
  });
  if (wide.matches && kept.get("files-panel") === "open") panel.showPopover();

  // What the agent's tools did shows once they have rested for a moment; while they do not, now and then.
  let soon = 0;
  let last = 0;
  const refresh = () => {
    last = Date.now();
    if (isOpen() && !document.hidden) tell("files", "files-changed");
  };
  const changed = () => {
    clearTimeout(soon);
    soon = setTimeout(refresh, Date.now() - last > 3000 ? 100 : 700);
  };
  const isCall = (node) => node.nodeType === 1 && (node.matches(".tool-call, .turn") || node.querySelector(".tool-call"));
  new MutationObserver((records) => {
    if (records.some((record) => (record.type === "attributes" ? isCall(record.target) : [...record.addedNodes].some(isCall)))) changed();
  }).observe(transcript, { subtree: true, childList: true, attributeFilter: ["data-status"] });
  document.addEventListener("visibilitychange", changed, { signal });
});
