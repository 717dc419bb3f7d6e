// What can be done with the files of a workspace: one menu, about the file whose button opens it; and uploads.
{
  const menu = () => document.getElementById("file-menu");

  document.addEventListener("click", (event) => {
    const { path } = event.target.closest?.(".file-row__more")?.dataset ?? {};
    if (!path) return;
    const name = path.slice(path.lastIndexOf("/") + 1);
    const dialog = document.getElementById("file-delete");
    const { folder = "", as = "" } = document.getElementById("files").dataset; // a file that is open is in no folder
    const renaming = menu().querySelector("form");
    for (const form of [renaming, dialog.querySelector("form")]) {
      form.elements.path.value = path;
      form.elements.folder.value = folder;
    }
    renaming.elements.name.value = name;
    renaming.elements.as.value = as;
    menu().dataset.path = path;
    menu().querySelector("[download]").search = new URLSearchParams({ path });
    document.getElementById("file-delete-title").textContent = name;
  });

  document.addEventListener("click", (event) => {
    const item = event.target.closest?.("#file-menu .menu__item");
    if (!item) return;
    menu().hidePopover();
    if (!item.matches("[data-mention]")) return;
    const panel = document.getElementById("files-panel");
    if (panel.matches(":modal")) panel.close();
    document.getElementById("composer-text").focus();
    const { path } = menu().dataset;
    document.execCommand("insertText", false, /\s/.test(path) ? `"${path}" ` : `${path} `); // so that it can be undone
  });

  document.addEventListener("submit", ({ target }) => {
    if (!target.matches("#file-menu form, #file-delete form")) return;
    menu().hidePopover();
    document.getElementById("file-delete").close();
    document.getElementById("files-body")?.focus(); // the row may go
  });
  // Messages only name a file that is deleted.
  document.addEventListener("htmx:after:swap", ({ detail }) => {
    const form = detail.ctx?.sourceElement;
    if (!form?.matches?.("#file-delete form") || document.querySelector("#files :is(.files__problem, .elsewhere)")) return;
    for (const link of document.querySelectorAll("a.attachment__picture, a.attachment__file")) {
      if (new URL(link.href).searchParams.get("path") !== form.elements.path.value) continue;
      const name = document.createElement("span");
      name.className = "attachment__file";
      name.textContent = link.querySelector("img")?.alt ?? link.textContent;
      link.replaceWith(name);
    }
  });

  // A name that was refused, or did not arrive, is in its field again, with why beneath it until the menu is closed.
  // Why anything else was refused comes into view.
  document.addEventListener("toggle", ({ target, newState }) => {
    if (target.id === "file-menu" && newState === "closed") target.querySelector(".files__problem")?.remove();
  }, true);
  const askAgain = (button, typed, problem) => {
    if (!button) return problem?.scrollIntoView({ block: "nearest" });
    button.click();
    const form = menu().querySelector("form");
    if (problem) form.append(problem);
    form.elements.name.value = typed;
    form.elements.name.focus();
  };
  const again = ({ type, detail }) => {
    const form = detail.ctx?.sourceElement;
    const problem = document.querySelector("#files .files__problem");
    if (!form?.matches?.(".file-menu__rename")) return problem?.scrollIntoView({ block: "nearest" });
    const { path, name } = form.elements;
    const buttons = [...document.querySelectorAll(".file-row__more")];
    if (problem || type === "htmx:error") askAgain(buttons.find((button) => button.dataset.path === path.value), name.value, problem);
    else if (document.activeElement.id === "files-body") document.querySelector(".files--one .file-row__more")?.focus();
  };
  for (const type of ["htmx:after:swap", "htmx:error"]) document.addEventListener(type, again);
  // So on the page of a file, which comes back under the address of its form.
  onContent(() => {
    const file = document.querySelector(".files-page > .files--one");
    if (!file || location.pathname !== new URL(menu().querySelector("form").action).pathname) return;
    history.replaceState(null, "", file.getAttribute("hx-get"));
    shown.path = location.pathname;
    const problem = file.querySelector(".files__problem");
    askAgain(file.querySelector(".file-row__more"), problem?.dataset.typed, problem);
  });

  // What is chosen is uploaded, in as many requests as it takes. What is said of it stays while the agent's changes are
  // drawn; an error, until the user's next act, or until the panel is closed.
  const say = (text, isQuiet = false) => {
    const status = document.querySelector(".files__upload [role=alert]");
    if (!status) return text && note(text); // a file is shown
    status.textContent = text;
    status.toggleAttribute("data-quiet", isQuiet);
    if (text) status.scrollIntoView({ block: "nearest" });
  };
  const forget = () => {
    document.querySelector("#files[data-folder]:not([data-folder='']) > .files__problem")?.remove();
    document.querySelector(".files__upload [role=alert]:not([data-quiet])")?.replaceChildren();
  };
  document.addEventListener("submit", forget);
  document.addEventListener("close", ({ target }) => target.id === "files-panel" && !target.open && forget(), true);
  let all = []; // what was chosen, without files that are too large
  let sent = []; // what is on its way
  let rest = []; // what goes with the next requests
  let leftOut = ""; // what is said in the end of files that are too large
  const send = (form) => {
    ({ fitting: sent, others: rest } = fit(rest));
    form.elements.files.files = held(sent);
    form.requestSubmit();
  };
  document.addEventListener("change", ({ target }) => {
    const { form, files } = target;
    if (!target.matches(".files__upload input")) return;
    const { sending } = form.querySelector("[data-sending]").dataset;
    if (!document.getElementById("composer-files")) {
      say(sending, true);
      return form.requestSubmit();
    }
    const tooLarge = [...files].filter((file) => refusalOf([file]));
    leftOut = tooLarge.length ? inOneLine(refusalOf(tooLarge), notAdded(tooLarge)) : "";
    rest = all = [...files].filter((file) => !tooLarge.includes(file));
    say(rest.length ? sending : leftOut, rest.length > 0);
    if (rest.length) send(form);
  });
  document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => {
    const { action } = ctx.sourceElement;
    if (!ctx.sourceElement.matches?.(".files__upload")) return;
    const form = [...document.querySelectorAll(".files__upload")].find((each) => each.action === action); // or a file is shown
    const isLost = !ctx.response;
    const isRefused = document.querySelector("#files > .files__problem") !== null;
    if (rest.length && form && !isLost && !isRefused) return send(form);
    form?.reset(); // or the same file, chosen again, would be no change
    const lost = isLost ? document.getElementById("composer-files")?.dataset.lost : "";
    const missing = isLost || isRefused ? [...sent, ...rest] : rest;
    const isPart = missing.length > 0 && missing.length < all.length;
    say(inOneLine(lost, isPart && notAdded(missing), leftOut));
    rest = [];
  });
}
