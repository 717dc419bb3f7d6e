// The panel of files beside the chat: open as it was left in this conversation, and up to date while the agent works.
// It is offered once there is a file.
onContent((signal) => {
  const panel = document.getElementById("files-panel");
  const transcript = document.getElementById("transcript");
  if (!panel || !transcript) return;
  const wide = matchMedia("(width >= 75rem)");
  const isOpen = () => panel.matches(":popover-open");
  const tell = (id, what) => document.getElementById(id)?.dispatchEvent(new Event(what));

  // The first time whole, then what is new: folders stay open.
  const fetchFiles = () => (document.getElementById("files") ? tell("files", "files-changed") : tell("files-body", "files-show"));

  const key = `files-panel ${shown.path}`;
  panel.addEventListener("toggle", () => {
    if (isOpen()) fetchFiles();
    kept.set(key, isOpen() && "open");
  });
  if (wide.matches && kept.get(key)) panel.showPopover();

  const buttons = document.querySelectorAll(".bar__files");
  const isOffered = () => !buttons[0].hidden;
  panel.addEventListener("htmx:after:swap", () => {
    for (const button of buttons) button.hidden &&= !panel.querySelector(".file-row");
  });

  // What the agent's tools did shows once they have rested for a moment; while they do not, now and then.
  let soon = 0;
  let last = 0;
  const refresh = () => {
    last = Date.now();
    if (!document.hidden && (isOpen() || !isOffered())) fetchFiles();
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
