// Where a picture of the workspace is no more, its words are left.
document.addEventListener("error", ({ target }) => {
  if (target.matches?.("img.picture")) target.replaceWith(`[${target.alt}]`);
}, true);

// The panel of files beside the chat, or over it where there is no room: open as it was left in this conversation, and
// up to date while the agent works. It is offered once there is a file, and a link to a file opens in it.
onContent((signal) => {
  const panel = document.getElementById("files-panel");
  const transcript = document.getElementById("transcript");
  if (!panel || !transcript) return;
  const beside = matchMedia("(width >= 60rem)");
  const wide = matchMedia("(width >= 75rem)");
  const tell = (id, what) => document.getElementById(id)?.dispatchEvent(new Event(what));

  // The first time whole, then what is new: folders stay open. It never takes the place of a file that was asked for.
  let asked = null;
  const fetchFiles = () => {
    if (document.getElementById("files")) tell("files", "files-changed");
    else if (!asked) tell("files-body", "files-show");
  };
  const show = (address) => {
    const request = htmx.ajax("GET", address, { source: "#files-body", target: "#files-body", swap: "innerHTML" });
    asked = request.finally(() => (asked = null));
  };

  // What could not be fetched is asked for again until it is there.
  const isThere = () => panel.querySelector("#files, .files--one") !== null;
  const askAgain = () => !signal.aborted && panel.open && !isThere() && fetchFiles();
  panel.addEventListener("htmx:error", ({ target }) => {
    if (target.id !== "files-body" || isThere()) return;
    if (!target.firstElementChild) target.innerHTML = '<p class="files__problem" role="alert"></p>';
    target.firstElementChild.textContent = document.getElementById("content").dataset.lost;
    setTimeout(askAgain, 3000);
  });

  const key = `files-panel ${shown.path}`;
  const open = () => {
    if (panel.open) return;
    if (beside.matches) panel.show();
    else panel.showModal();
    kept.set(key, "open");
  };
  panel.addEventListener("close", () => kept.set(key, panel.open && "open"));
  beside.addEventListener("change", () => {
    if (!panel.open) return;
    panel.close();
    open();
  }, { signal });
  if (wide.matches && kept.get(key)) {
    panel.open = true; // show() would take the focus
    setTimeout(fetchFiles); // once htmx knows the page
  }

  // A file that is no more: whoever asks for the files again gets the list.
  const isGone = () => panel.querySelector(".files--one > :is(.files__problem, .elsewhere)") !== null;
  let opened = false; // as it was left, by the button
  const button = document.querySelector(".bar__files");
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-in-panel]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (link === button && panel.open) return panel.close();
    if (panel.open) document.getElementById("files-body").focus({ preventScroll: true }); // Escape closes it
    open();
    opened = link === button && !isGone() && (beside.matches || !upLink());
    if (opened) fetchFiles();
    else show(link.href);
  }, { signal });

  // Over the page, what is opened from the list has an entry of the history of its own: Back leads to the list.
  const upLink = () => panel.querySelector("#files > .files__title > .files__link");
  panel.addEventListener("click", (event) => {
    const link = event.target.closest(".files__link");
    if (!link || beside.matches) return;
    if (link.closest(".file-row") && !history.state?.file) {
      history.pushState({ cover: true, file: true }, "");
      globalThis.navigation?.updateCurrentEntry({ state: { cover: true } });
    } else if (link === upLink() && history.state?.file) {
      event.preventDefault();
      event.stopPropagation();
      history.back();
    }
  }, true);
  addEventListener("popstate", () => {
    if (panel.open && !beside.matches && history.state?.cover && !history.state.file) upLink()?.click();
  }, { signal });
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || isComposing(event) || panel.querySelector(":popover-open, dialog[open]")) return;
    event.preventDefault();
    panel.close();
  });

  // A list comes back as it was left, anything else opens at its top, and what is drawn again stays where it is.
  const lists = new Map(); // by folder: how far it was scrolled, and which of its folders were unfolded
  const folder = () => document.getElementById("files")?.dataset.folder;
  let left = null; // the folder whose list was there before
  const keepPlace = () => {
    left = folder();
    const folds = [...panel.querySelectorAll(".file-row__folder")].map(({ id, open }) => [id, open]);
    if (left) lists.set(left, { top: panel.scrollTop, folds });
  };
  const comeBack = () => {
    const { top = 0, folds = [] } = lists.get(folder()) ?? {};
    for (const [id, open] of folds) document.getElementById(id)?.toggleAttribute("open", open);
    panel.scrollTop = top;
  };

  // What was refused can be read until the user's next act, though the agent's changes are drawn meanwhile.
  let refused = null;
  panel.addEventListener("htmx:before:swap", ({ detail }) => {
    keepPlace();
    refused = detail.ctx.sourceElement?.id === "files" ? panel.querySelector("#files > .files__problem") : null;
  });

  const isOffered = () => !button.hidden;
  panel.addEventListener("htmx:after:swap", ({ detail }) => {
    if (detail.ctx.target.id === "files-body" || folder() !== left) comeBack();
    if (opened && isGone()) show(button.href);
    opened = false;
    if (refused) panel.querySelector(".files__title")?.after(refused);
    button.hidden &&= !panel.querySelector(".file-row, .files--one");
    if (panel.open && document.activeElement === document.body) document.getElementById("files-body").focus({ preventScroll: true });
  });

  // What the agent's tools did shows once they have rested for a moment; while they do not, now and then.
  let soon = 0;
  let last = 0;
  const refresh = () => {
    last = Date.now();
    if (!document.hidden && (panel.open || !isOffered())) fetchFiles();
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
