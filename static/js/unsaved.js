// Forms that ask before what was changed in them is lost. A closed dialog does not: Escape closes it with what was typed.
const isUnsaved = () => [...document.querySelectorAll("form[data-guarded][data-changed]")].some((form) => form.checkVisibility());
document.addEventListener("input", ({ target }) => target.form?.hasAttribute("data-guarded") && (target.form.dataset.changed = ""));
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented || event.target.method !== "post") return;
  for (const form of document.querySelectorAll("form[data-changed]")) delete form.dataset.changed;
});
addEventListener("beforeunload", (event) => isUnsaved() && event.preventDefault());
