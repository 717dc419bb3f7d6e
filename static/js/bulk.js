// Choosing rows of a list: with Shift a range, all on the page, all that match; and how many that are.
const startBulk = (signal) => {
  const form = document.getElementById("bulk");
  if (!form) return;
  const boxes = [...form.querySelectorAll("[name='c']")];
  const page = document.getElementById("bulk-page");
  const every = document.getElementById("bulk-every");
  const mode = document.getElementById("bulk-mode");
  const count = document.getElementById("bulk-count");
  let last = null;

  const choose = (some, chosen) => {
    for (const box of some) box.checked = chosen;
  };
  const show = () => {
    const chosen = boxes.filter((box) => box.checked).length;
    page.checked = chosen === boxes.length;
    page.indeterminate = chosen > 0 && !page.checked;
    const number = every?.checked ? count.dataset.every : chosen;
    count.textContent = Number(number) ? count.dataset.words.replace("{}", number) : "";
    for (const title of form.querySelectorAll("[data-selected]")) title.textContent = count.textContent;
  };
  const range = (box) => {
    const [from, to] = [boxes.indexOf(last), boxes.indexOf(box)].sort((a, b) => a - b);
    return from < 0 ? [box] : boxes.slice(from, to + 1);
  };

  form.addEventListener("click", (event) => {
    const box = event.target.closest("[name='c']");
    if (!box) return;
    if (event.shiftKey) choose(range(box), box.checked);
    last = box;
    show();
  });
  // On a phone, in the mode for choosing, a row is its box.
  form.addEventListener("click", (event) => {
    const link = event.target.closest(".conversation-row__link");
    if (!link || !mode.checked || !mode.labels[0].checkVisibility()) return;
    event.preventDefault();
    link.parentElement.querySelector("[name='c']").click();
  });
  form.addEventListener("change", (event) => {
    if (event.target === page) choose(boxes, page.checked);
    if (event.target === every) choose(boxes, every.checked);
    if (event.target.name === "c" || event.target === page) every && (every.checked &&= page.checked);
    if (event.target === mode && !mode.checked) {
      choose(boxes, false);
      every && (every.checked = false);
    }
    show();
  });
  // Enter at a box would press the form's first button.
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.type === "checkbox") event.preventDefault();
  });
  // A download leaves the page as it is.
  form.addEventListener("submit", ({ submitter }) => submitter?.name === "format" && submitter.closest("dialog").close());
  page.parentElement.hidden = false;
  addEventListener("pageshow", show, { signal }); // the browser may have kept what was chosen
};
onContent(startBulk);
// The search has put another list in its place.
document.addEventListener("htmx:after:swap", ({ detail }) => detail.ctx.target?.id === "found" && startBulk(shown.gone.signal));

// The list follows the sidebar, which is live, while nobody is at it.
onContent((signal) => {
  const found = document.getElementById("found");
  if (!found) return;
  let soon = 0;
  const isAtWork = () =>
    found.contains(document.activeElement) ||
    document.querySelector("dialog[open], [popover]:popover-open, [data-renaming], #bulk-mode:checked, #bulk [name=c]:checked") !== null;
  const canFollow = () => !signal.aborted && document.getElementById("bulk") !== null;
  const follow = async () => {
    if (!canFollow()) return;
    if (document.hidden || isAtWork()) return later(2000);
    const { href } = location;
    const answer = await fetch(href, { headers: { "HX-Target": "div#found" } }).catch(() => null);
    const text = answer?.ok && !answer.redirected ? await answer.text() : "";
    if (!canFollow() || location.href !== href) return;
    if (!text || isAtWork()) return later(2000); // somebody began meanwhile
    htmx.swap({ sourceElement: found, target: found, swap: "innerHTML", text });
  };
  const later = (milliseconds) => {
    clearTimeout(soon);
    soon = setTimeout(follow, milliseconds);
  };
  document.addEventListener("htmx:ws:after:message:incoming", ({ detail }) => {
    if (!detail.message.data.startsWith("{")) later(300);
  }, { signal });
});
