// The menu of a conversation's row, in the sidebar and in the list: one for all rows, about the row whose button opens
// it. What it did can be undone.
{
  const menu = () => document.getElementById("row-menu");
  const row = () => document.querySelector(`${menu().dataset.list} a[href="${menu().dataset.about}"]`)?.closest(".conversation-row");
  const sidebar = () => document.getElementById("sidebar");
  const say = (text) => (menu().querySelector("[role=alert]").textContent = text);

  const showTags = (words) => {
    const list = menu().querySelector(".tags");
    list.replaceChildren(...words.map(tagOf));
    list.parentElement.hidden = !words.length;
  };
  const tagOf = (word) => {
    const tag = document.getElementById("row-tag").content.firstElementChild.cloneNode(true);
    const off = tag.querySelector("button");
    tag.firstElementChild.textContent = off.value = word;
    off.ariaLabel = off.ariaLabel.replace("{}", word);
    return tag;
  };

  document.addEventListener("click", (event) => {
    const about = event.target.closest?.(".row-more")?.closest(".conversation-row");
    if (!about) return;
    const address = about.querySelector("a").getAttribute("href");
    if (menu().dataset.about !== address) menu().querySelectorAll("[name=word]").forEach((field) => (field.value = field.defaultValue));
    menu().dataset.about = address;
    menu().dataset.list = sidebar().contains(about) ? "#sidebar" : "#found";
    showTags([...about.querySelectorAll(".conversation-row__tag")].map((tag) => tag.textContent));
    for (const state of ["data-pinned", "data-archived"]) menu().toggleAttribute(state, about.hasAttribute(state));
    say("");
    for (const form of menu().querySelectorAll("form")) form.action = `${address}organise/`;
    document.querySelector("#row-delete form").action = `${address}delete/`;
    document.getElementById("row-delete-title").textContent = about.querySelector(".conversation-row__title").textContent;
  });

  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-rename-row]")) return;
    menu().hidePopover();
    renameRow(row());
  });

  // On a phone the confirmation closes the sidebar; its end brings it back, with the note that offers Undo, unless the page
  // shown is deleted.
  let wasOpenAt = null;
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[commandfor=row-delete][command=show-modal]")) return;
    wasOpenAt = sidebar().matches(":popover-open") ? shown.path : null;
    document.getElementById("row-delete-running").hidden = !row()?.querySelector(".conversation-row__active");
  }, true);
  document.addEventListener("close", (event) => {
    if (event.target.id !== "row-delete") return;
    if (wasOpenAt === shown.path) sidebar().showPopover();
    const place = document.activeElement; // the button that opened it is hidden by now
    if (place === document.body || event.target.contains(place)) row()?.querySelector(".row-more").focus();
  }, true);

  let deleting = null; // the path of the page shown, whose deletion leads to the list
  onContent(() => {
    if (deleting && deleting !== shown.path) document.getElementById("row-delete").close();
    deleting = null;
  });

  let latest = null; // what was sent last: only that is offered to be undone
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    const isShown = shown.path === row()?.querySelector("a").pathname;
    if (isShown && form.parentElement.id === "row-delete") deleting = shown.path;
    if (!form.parentElement.matches(isShown ? "#row-menu, #sidebar-undo" : "#row-menu, #sidebar-undo, #row-delete")) return;
    event.preventDefault();
    const own = (latest = new FormData(form, event.submitter));
    const { about } = menu().dataset;
    const isUndo = form.closest("#sidebar-undo") !== null;
    if (!isUndo) document.getElementById("sidebar-undo").replaceChildren(); // the row may be drawn anew before the next offer is here
    menu().setAttribute("aria-busy", "true");
    const answer = await post(form.action, own).catch(() => null);
    menu().removeAttribute("aria-busy");
    if (!answer?.ok && form.elements.word) form.elements.word.value = own.get("word");
    if (!answer) return warnLost();
    if (!answer.ok) return say((await plainText(answer)) || document.getElementById("content").dataset.lost);
    menu().hidePopover();
    document.getElementById("row-delete").close();
    const note = await answer.text();
    await redraw();
    if (own !== latest || document.getElementById("bulk")) return; // the list is loaded again, with its own note
    const place = document.getElementById("sidebar-undo");
    offer(place, note);
    place.querySelector(".undo-note")?.setAttribute("data-about", about);
    // The focus may be at another row by now.
    if (isUndo || !row()) (row()?.querySelector(".row-more") ?? place.querySelector("button") ?? place).focus();
  });
  // One that is back in the list, as a message in it brings it there, is archived no more.
  document.addEventListener("htmx:after:swap", () => {
    const note = document.querySelector("#sidebar-undo [data-kind=archive]");
    if (note && document.querySelector(`#sidebar-list a[href="${note.dataset.about}"]`)) note.remove();
  });
}
