// Ctrl+K or Cmd+K opens the palette, "?" the sheet of keys, Ctrl+Shift+O a new conversation. Palette and sheet are there
// only while they are open: the palette at once, so that no key is lost, with what it finds fetched as one types.
{
  const isBusy = () => document.querySelector("dialog:modal");
  const isTyping = (place) => place.closest?.("input, textarea, select, [contenteditable]");
  const VISITED = "visited"; // the paths of the last two conversations, this one first

  let left = null; // the field that the palette was opened from, and its caret

  const openPalette = (what = {}) => {
    const field = document.activeElement;
    left = { field, start: field.selectionStart, end: field.selectionEnd };
    const label = document.getElementById("open-palette").title;
    const last = (kept.get(VISITED) ?? "").split(" ").find((path) => path !== location.pathname) ?? "";
    const dialog = document.createElement("dialog");
    dialog.id = "palette";
    dialog.className = "dialog palette";
    dialog.dataset.fetched = "";
    dialog.innerHTML = `<input class="options__filter" type="text" enterkeyhint="go" name="q" maxlength="200" role="combobox"
        aria-expanded="true" aria-controls="palette-options" aria-autocomplete="list" autocomplete="off" spellcheck="false"
        hx-get="/palette/" hx-trigger="load, input delay:80ms" hx-target="#palette-options" hx-swap="innerHTML"
        hx-sync="this:replace"><div id="palette-options" class="options" role="listbox" aria-busy="true"></div>`;
    const [search, list] = dialog.children;
    search.setAttribute("hx-vals", JSON.stringify({ last: last.split("/")[2] ?? "", ...what }));
    search.placeholder = label;
    for (const each of [dialog, search, list]) each.setAttribute("aria-label", label);
    document.body.append(dialog);
    htmx.process(dialog);
    dialog.showModal();
    searchAgainWithLists(search, list);
  };
  // Models are found by name in lists that connections were asked for; new ones are looked through as well.
  const searchAgainWithLists = async (search, list) => {
    const answer = await fetch("/models/fetch/").catch(() => null);
    const isMoved = selectedIn(list) !== (optionsOf(list)[0] ?? null);
    if (answer?.status !== 200 || !search.isConnected || !search.value.trim() || isMoved) return;
    search.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const openKeys = () =>
    htmx.ajax("GET", "/keys/", { target: "body", swap: "beforeend" }).then(() => document.getElementById("keys")?.showModal());

  document.addEventListener("keydown", (event) => {
    if (isComposing(event) || event.repeat || event.altKey) return;
    const control = event.ctrlKey || event.metaKey;
    if (control && !event.shiftKey && event.key.toLowerCase() === "k" && document.getElementById("open-palette")) {
      event.preventDefault();
      const palette = document.getElementById("palette");
      if (palette) palette.close();
      else if (!isBusy()) openPalette();
    } else if (control && event.shiftKey && event.key.toLowerCase() === "o" && document.querySelector(".sidebar__new")) {
      event.preventDefault(); // of the browser's bookmarks
      if (!isBusy()) document.querySelector(".sidebar__new").click();
    } else if (event.key === "?" && !control && !isTyping(event.target) && !isBusy() && document.getElementById("open-palette")) {
      event.preventDefault();
      openKeys();
    }
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("#open-palette")) openPalette();
    else if (event.target.closest?.(".search-box [type=search]")) openPalette({ search: 1 });
    // What is chosen closes the palette, as does a click beside it.
    const dialog = event.target.closest?.("#palette");
    const isChosen = event.target.closest?.("[role=option]");
    if (dialog && (event.target === dialog || isChosen)) dialog.close();
    // Or the keyboard stays in the field of the sidebar, which only opens it.
    if (dialog && isChosen && document.activeElement.matches(".search-box [type=search]")) document.activeElement.blur();
    const control = event.target.closest?.("[data-click]")?.dataset.click;
    if (control === "?") openKeys();
    else if (control) press(document.querySelector(control));
  });
  document.addEventListener("close", ({ target }) => {
    if (!target.matches("[data-fetched]")) return;
    target.querySelector("[hx-target]")?.removeAttribute("hx-target"); // what was typed last waits to be looked up
    target.remove();
    // Chromium gives the focus back to the field, but its caret goes with the dialog.
    if (left?.field === document.activeElement && left.field.matches("textarea, [type=text]")) left.field.setSelectionRange(left.start, left.end);
    left = null;
  }, true);

  const press = (control) => {
    if (control?.matches("[commandfor]")) control.closest("[popover]")?.showPopover(); // the dialog is in it
    if (!control?.matches("select")) return control?.click();
    control.focus();
    control.showPicker?.();
  };

  document.addEventListener("htmx:ws:after:connection", () => {
    if (!document.getElementById("conversation")) return;
    const others = (kept.get(VISITED) ?? "").split(" ").filter((path) => path && path !== location.pathname);
    kept.set(VISITED, [location.pathname, ...others].slice(0, 2).join(" "));
  });
}
