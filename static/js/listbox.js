// Lists to choose from while the keyboard stays in a field: the field names its list in aria-controls. Arrows move,
// Enter chooses, and the pointer does both. Options are links and buttons, so choosing one is a click.
const listOf = (field) => {
  const list = document.getElementById(field.getAttribute?.("aria-controls"));
  return list?.matches("[role=listbox]") && list.checkVisibility() ? list : null;
};
const optionsOf = (list) => [...list.querySelectorAll("[role=option]:not([hidden])")];
const selectedIn = (list) => list.querySelector("[role=option][aria-selected=true]:not([hidden])");
const fieldOf = (list) => document.querySelector(`[aria-controls="${list.id}"]`);

const select = (list, option) => {
  for (const each of list.querySelectorAll("[aria-selected=true]")) each.setAttribute("aria-selected", false);
  const field = fieldOf(list);
  if (!option) return field?.removeAttribute("aria-activedescendant");
  option.id ||= `option-${uuid()}`;
  option.setAttribute("aria-selected", true);
  field?.setAttribute("aria-activedescendant", option.id);
};

// Whether the options are not those of what stands in the field now.
const listIsBusy = (list, typed) => {
  const busy = list.firstElementChild?.dataset.typed !== typed;
  list.toggleAttribute("aria-busy", busy);
  return busy;
};
// Selects the first option; or takes it, where Enter was pressed before the options were here.
const choose = (list) => {
  select(list, optionsOf(list)[0]);
  if (!("enter" in list.dataset)) return;
  delete list.dataset.enter;
  selectedIn(list)?.click();
};
// What could not be looked up is asked for again; Enter was meant for what is not there.
document.addEventListener("htmx:error", ({ detail: { ctx } }) => {
  const field = ctx?.sourceElement;
  const list = field?.matches?.("[role=combobox]") && listOf(field);
  if (!list) return;
  const isSaid = () => list.querySelector(".options__lost") !== null;
  delete list.dataset.enter;
  list.removeAttribute("aria-busy");
  if (!isSaid()) list.innerHTML = '<p class="options__lost" role="alert"></p>';
  list.firstElementChild.textContent = document.getElementById("content").dataset.lost;
  setTimeout(() => isSaid() && field.dispatchEvent(new Event("input", { bubbles: true })), 3000);
});
{
  const step = (list, by) => {
    const options = optionsOf(list);
    const at = options.indexOf(selectedIn(list));
    const next = options[(at < 0 && by < 0 ? by : at + by + options.length) % options.length] ?? options.at(-1);
    select(list, next);
    next?.scrollIntoView({ block: "nearest" });
  };

  // The field of an open menu that a tap has opened takes the keyboard with the first key that is for it.
  const enterMenu = ({ key, target }) => {
    const menu = document.querySelector(".options-menu:popover-open");
    const isFor = key === "ArrowDown" || key === "ArrowUp" || ([...key].length === 1 && key !== " ");
    if (!menu || !isFor || menu.contains(target)) return target;
    menu.querySelector("[data-filter]")?.focus();
    return document.activeElement;
  };

  // Ahead of all others who listen, among them the composer, which sends on Enter.
  const press = (event) => {
    if (isComposing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    const list = listOf(enterMenu(event));
    if (!list || event.shiftKey) return;
    if (event.key === "ArrowDown") step(list, 1);
    else if (event.key === "ArrowUp") step(list, -1);
    else if (event.key === "Enter" && list.hasAttribute("aria-busy")) list.dataset.enter = "";
    else if ((event.key === "Enter" || (event.key === "Tab" && list.hasAttribute("data-tab"))) && selectedIn(list)) selectedIn(list).click();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  addEventListener("keydown", press, true);

  document.addEventListener("pointermove", (event) => {
    const option = event.target.closest?.("[role=option]");
    if (option && option.getAttribute("aria-selected") !== "true") select(option.closest("[role=listbox]"), option);
  });
  // The field keeps the keyboard.
  document.addEventListener("mousedown", (event) => {
    if (event.target.closest?.("[role=listbox]")) event.preventDefault();
  });

  // A field marked data-filter narrows the list that is there.
  const filter = (field) => {
    const list = listOf(field);
    if (!list) return;
    const words = field.value.toLowerCase().split(/\s+/);
    for (const option of list.querySelectorAll("[role=option]")) {
      const text = `${option.closest("[role=group]")?.ariaLabel ?? ""} ${option.textContent}`.toLowerCase();
      option.hidden = !words.every((word) => text.includes(word));
    }
    for (const group of list.querySelectorAll("[role=group]")) group.hidden = !group.querySelector("[role=option]:not([hidden])");
    list.nextElementSibling.hidden = optionsOf(list).length > 0;
    select(list, field.value ? optionsOf(list)[0] : list.querySelector("[aria-current]"));
  };
  document.addEventListener("input", ({ target }) => {
    if (target.matches("[data-filter]")) filter(target);
    else if (target.matches("[role=combobox]")) listOf(target)?.setAttribute("aria-busy", true);
  });
  document.addEventListener("htmx:after:swap", ({ detail }) => {
    const field = detail.ctx.sourceElement;
    if (field.matches?.("[role=combobox]") && listOf(field) && !listIsBusy(listOf(field), field.value.trim())) choose(listOf(field));
    for (const field of document.querySelectorAll("[data-filter]")) {
      filter(field);
      const menu = field.closest(":popover-open");
      if (menu && !menu.contains(document.activeElement) && !raisesKeyboard()) field.focus();
    }
  });
}
