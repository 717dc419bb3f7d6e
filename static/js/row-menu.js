// The menu of the conversations in the sidebar: one for all rows, about the row whose button opens it. What it did can be
// undone where it stands.
{
  const menu = () => document.getElementById("row-menu");
  const row = () => document.querySelector(`#sidebar [data-conversation="${menu().dataset.about}"]`);
  const say = (text) => (menu().querySelector("[role=alert]").textContent = text);

  document.addEventListener("click", (event) => {
    const about = event.target.closest?.(".row-more")?.closest(".conversation-row");
    if (!about) return;
    const address = about.querySelector("a").getAttribute("href");
    menu().dataset.about = about.dataset.conversation;
    menu().toggleAttribute("data-pinned", about.hasAttribute("data-pinned"));
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

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    const isShown = shown.path === row()?.querySelector("a").pathname; // its deletion leads to the list
    if (!form.parentElement.matches(isShown ? "#row-menu, #sidebar-undo" : "#row-menu, #sidebar-undo, #row-delete")) return;
    event.preventDefault();
    const answer = await post(form.action, new FormData(form, event.submitter)).catch(() => null);
    if (!answer?.ok) return say((answer && (await plainText(answer))) || "×");
    menu().hidePopover();
    document.getElementById("row-delete").close();
    const note = await answer.text();
    await redraw();
    document.getElementById("sidebar-undo").innerHTML = note;
  });
}
