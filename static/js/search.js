// "/" goes to the search box of the list, or opens the palette, unless a message is begun. What an input method
// composes is searched for once it is confirmed, and the Enter that confirms it searches for nothing.
{
  const box = () => document.querySelector(".search [name='q']");
  const isTyping = (place) =>
    place.closest?.("input, textarea, select, [contenteditable]") || document.getElementById("composer-text")?.value;
  const go = () => {
    if (!box()) return document.querySelector(".search-box [type=search]").click();
    box().focus();
    box().select();
  };

  document.addEventListener("keydown", (event) => {
    if (isComposing(event)) {
      if (event.key === "Enter" && event.target.type === "search") event.preventDefault();
      return;
    }
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event.target)) return;
    if (!document.getElementById("open-palette") || document.querySelector("dialog:modal, [popover]:popover-open:not(#sidebar, [popover='manual'])")) return;
    event.preventDefault();
    go();
  });

  // Ahead of htmx, which would ask for what is not confirmed.
  const searches = (field) => field.matches("[type=search], [role=combobox]");
  addEventListener("input", (event) => event.isComposing && searches(event.target) && event.stopPropagation(), true);
  document.addEventListener("compositionend", ({ target }) => {
    if (searches(target)) target.dispatchEvent(new Event("input", { bubbles: true }));
  });

  // Filters are set and cleared without leaving the page.
  const filters = () => [...document.querySelectorAll("#search-filters :is(select, input)")];
  const clear = () => document.querySelector("#search-filters a");
  document.addEventListener("change", ({ target }) => {
    if (target.closest?.("#search-filters")) clear().hidden = !filters().some(({ value }) => value);
  });
  document.addEventListener("click", (event) => {
    if (!event.target.matches?.("#search-filters a") || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    for (const field of filters()) field.value = "";
    document.querySelector("#search-filters summary").focus();
    filters()[0].dispatchEvent(new Event("change", { bubbles: true }));
  });

  // The address is that of what is shown, or of what is on its way, which a change of it would stop.
  document.addEventListener("htmx:after:swap", ({ detail }) => {
    const { target, sourceElement: form } = detail.ctx;
    if (target?.id !== "found" || !form.matches(".search") || location.pathname !== shown.path) return; // or the user is leaving
    if (document.querySelector("#content[aria-busy]")) return;
    const asked = [...new FormData(form)].filter(([, value]) => value);
    history.replaceState(history.state, "", asked.length ? `?${new URLSearchParams(asked)}` : location.pathname);
  });
}
