// Renames a conversation in its place: its title, or its row in a list, gives way to a field. Enter or a click
// elsewhere renames, Escape leaves the name as it was. What did not reach the server is in the field again.
const edit = ({ place, name, address, back, row, typed = name.textContent }) => {
  const field = document.getElementById("rename-field").content.firstElementChild.cloneNode();
  const before = name.textContent;
  field.value = typed;
  if (row) row.dataset.renaming = ""; // or what the socket sends would take the field away
  place.after(field); // the stylesheet hides the place
  field.select();
  field.focus();

  const close = async (title) => {
    if (!field.isConnected || "closing" in field.dataset) return;
    field.dataset.closing = "";
    const held = document.activeElement === field;
    field.remove();
    if (title) name.textContent = title;
    if (row) delete row.dataset.renaming;
    if (held) back.focus();
    if (!title || title === before) return;
    const body = new FormData();
    body.append("title", title);
    body.append("csrfmiddlewaretoken", document.querySelector("#row-menu [name=csrfmiddlewaretoken]").value);
    const answer = await post(address, body).catch(() => null);
    if (answer?.ok) return redraw();
    name.textContent = before;
    warnLost();
    if (name.isConnected) edit({ place, name, address, back, row, typed: title });
  };
  field.addEventListener("keydown", (event) => {
    if (isComposing(event) || !["Enter", "Escape"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    close(event.key === "Enter" ? field.value.trim() : "");
  });
  field.addEventListener("blur", () => close(field.value.trim()));
};

const renameTitle = () => {
  const title = document.getElementById("title");
  const name = title?.querySelector("[data-rename]");
  const back = document.activeElement === name ? name : (document.getElementById("composer-text") ?? name);
  if (name && !title.nextElementSibling?.matches(".rename")) edit({ place: title, name, address: name.dataset.rename, back });
};

const renameRow = (row) => {
  const link = row.querySelector("a");
  edit({ place: link, name: row.querySelector(".conversation-row__title"), address: `${link.getAttribute("href")}rename/`, back: link, row });
};

document.addEventListener("click", (event) => {
  if (event.target.closest?.("[data-rename]")) renameTitle();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "F2" || event.target.matches?.(".rename")) return;
  const row = event.target.closest?.(".conversation-row");
  if (row) renameRow(row);
  else renameTitle();
});
