// Forms that ask before what was changed in them is lost. A closed dialog does not: Escape closes it with what was typed.
const unsavedForms = () => [...document.querySelectorAll("form[data-guarded][data-changed]")].filter((form) => form.checkVisibility());
const isUnsaved = () => unsavedForms().length > 0;
const isTyped = (field) => {
  if (field.matches("[type=checkbox], [type=radio]")) return field.checked !== field.defaultChecked;
  if (!field.matches("select")) return field.value !== field.defaultValue;
  return field.selectedIndex !== Math.max(0, [...field.options].findIndex((option) => option.defaultSelected));
};
// What is typed and taken back is no change, unless the form was changed otherwise or came back with what is wrong in it.
document.addEventListener("input", ({ target: { form } }) => {
  if (!form?.hasAttribute("data-guarded") || form.dataset.changed === "") return;
  if ([...form.elements].some((field) => field.matches("input, select, textarea") && isTyped(field))) form.dataset.changed = "typed";
  else delete form.dataset.changed;
});
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented || event.target.method !== "post") return;
  for (const form of document.querySelectorAll("form[data-changed]")) delete form.dataset.changed;
});
addEventListener("beforeunload", (event) => isUnsaved() && event.preventDefault());

// What was typed in a form, but for secrets, is in it again: of a user who is signed out once they have signed in again,
// and in a dialog that was closed without a word when it is opened again. So is what the form showed at first, or what was
// saved meanwhile would be taken for what they changed.
const typedKey = (form) => `typed ${document.documentElement.dataset.user} ${form.action}`;
const isKeptOf = (field) => field.name && !field.matches("button, [type=hidden]:not([name=shown]), [type=file], [type=password], [data-secret]");
const keepTyped = (form, isSignedOut = true) => {
  const isOn = (field) => !field.matches("[type=checkbox], [type=radio]") || field.checked;
  const typed = [...form.elements].filter((field) => isKeptOf(field) && isOn(field)).map(({ name, value }) => [name, value]);
  keptInTab.set(typedKey(form), JSON.stringify({ typed, isSignedOut }));
  if (isSignedOut) delete form.dataset.changed;
};
const bringBackTyped = (form) => {
  const { typed, isSignedOut } = JSON.parse(keptInTab.get(typedKey(form)) || "{}");
  if (!typed) return;
  keptInTab.set(typedKey(form), null);
  for (const field of [...form.elements].filter(isKeptOf)) {
    if (field.matches("[type=checkbox], [type=radio]")) {
      field.checked = typed.some(([name, value]) => name === field.name && value === field.value);
    } else {
      const at = typed.findIndex(([name]) => name === field.name);
      if (at >= 0) [[, field.value]] = typed.splice(at, 1);
    }
    if (field.matches("select, [type=checkbox], [type=radio]")) field.dispatchEvent(new Event("change", { bubbles: true }));
  }
  form.dataset.changed = "";
  if (!isSignedOut) return;
  const line = Object.assign(document.createElement("p"), { className: "settings__problem", role: "alert" });
  form.prepend(line);
  line.textContent = document.getElementById("content").dataset.signedOut; // once it is there, or it would not be read out
};
onContent(() => document.querySelectorAll("form[data-guarded]").forEach(bringBackTyped));
const keepInDialogs = () => {
  for (const form of document.querySelectorAll("dialog form[data-guarded][data-changed]")) keepTyped(form, false);
};
onContent((signal) => signal.addEventListener("abort", keepInDialogs));
addEventListener("pagehide", keepInDialogs);
