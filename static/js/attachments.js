// Files that go with the next message: chosen, dropped or pasted. They travel with the form, as they do without
// a script; where the page is live the form is sent without leaving it.

// Why these files cannot be sent at once, or "".
const refusalOf = (files) => {
  const { mostFiles, mostBytes, tooMany, tooLarge } = document.getElementById("composer-files").dataset;
  if (files.length > Number(mostFiles)) return tooMany;
  const size = files.reduce((sum, file) => sum + file.size, 0);
  return size > Number(mostBytes) ? tooLarge : "";
};

{
  const chosenAt = new Map(); // by the path of their page, to which the user may come back

  onContent((signal) => {
    const form = document.getElementById("composer");
    const input = document.getElementById("composer-files");
    if (!input) return;
    const text = document.getElementById("composer-text");
    const list = document.getElementById("composer-attached");
    const { path } = shown;
    let chosen = [];

    // A picture is shown by its content, which the page's policy allows; by an address of its own it is not.
    const preview = (file) => {
      if (!/^image\/(png|jpeg|gif|webp)$/.test(file.type)) return [];
      const picture = new Image();
      const reader = new FileReader();
      picture.alt = "";
      picture.addEventListener("error", () => picture.remove());
      reader.addEventListener("load", () => (picture.src = reader.result));
      reader.readAsDataURL(file);
      return [picture];
    };

    const chip = (file) => {
      const row = document.createElement("li");
      const name = document.createElement("span");
      const remove = document.createElement("button");
      row.className = "attached";
      name.textContent = name.title = file.name;
      remove.type = "button";
      remove.textContent = "×";
      remove.setAttribute("aria-label", `${input.dataset.remove} ${file.name}`);
      remove.addEventListener("click", () => {
        keep(chosen.filter((each) => each !== file));
        text.focus();
      });
      row.append(...preview(file), name, remove);
      return row;
    };

    const held = (files) => {
      const data = new DataTransfer();
      for (const file of files) data.items.add(file);
      return data.files;
    };
    const keep = (files) => {
      chosen = files;
      if (files.length) chosenAt.set(path, files);
      else chosenAt.delete(path);
      input.files = held(files);
      list.replaceChildren(...files.map(chip));
      list.hidden = files.length === 0;
    };

    const add = (files) => {
      const all = [...chosen, ...files];
      const sentence = refusalOf(all);
      note(sentence);
      keep(sentence ? chosen : all);
    };

    input.addEventListener("change", () => add([...input.files]));

    text.addEventListener("paste", (event) => {
      const files = [...event.clipboardData.files];
      // A table that was copied comes as text and as a picture of it; then the text is meant.
      if (!files.length || event.clipboardData.types.includes("text/plain")) return;
      event.preventDefault();
      add(files);
    });

    // What is dropped on the list of files is uploaded, anything else goes with the message.
    const brings = (event) => event.dataTransfer?.types.includes("Files");
    const uploadAt = ({ target }) => target.closest?.("#files-panel")?.querySelector(".files__upload");
    const mark = (place) => {
      for (const each of document.querySelectorAll("[data-drop]")) if (each !== place) delete each.dataset.drop;
      if (place) place.dataset.drop = "";
    };
    document.addEventListener("dragover", (event) => {
      if (!brings(event)) return;
      event.preventDefault();
      mark(uploadAt(event)?.closest("#files-panel") ?? form);
    }, { signal });
    document.addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) mark(null);
    }, { signal });
    document.addEventListener("drop", (event) => {
      if (!brings(event)) return;
      event.preventDefault(); // or the browser would leave the page for the file
      mark(null);
      // A folder has no content of its own, and no type.
      const files = [...event.dataTransfer.items].filter((item) => !item.webkitGetAsEntry?.()?.isDirectory).map((item) => item.getAsFile()).filter(Boolean);
      const upload = uploadAt(event)?.elements.files;
      if (!upload) {
        add(files);
        return text.focus();
      }
      if (!files.length) return;
      upload.files = held(files);
      upload.dispatchEvent(new Event("change", { bubbles: true }));
    }, { signal });

    const sent = () => {
      keep([]);
      if (signal.aborted) return kept.set(`draft ${path}`, null);
      text.value = "";
      text.dispatchEvent(new Event("input", { bubbles: true }));
    };

    const send = async () => {
      form.dataset.sending = "";
      text.dataset.sent = text.value; // the composer then knows a repetition, and takes another id afterwards
      note(input.dataset.sending);
      try {
        const answer = await post(form.action, new FormData(form));
        if (!signal.aborted) note(answer.ok ? "" : (await plainText(answer)) || input.dataset.lost);
        if (answer.ok) sent();
      } catch {
        if (!signal.aborted) note(input.dataset.lost);
      } finally {
        delete form.dataset.sending;
      }
    };

    // Ahead of the socket, which carries text alone.
    document.addEventListener(
      "submit",
      (event) => {
        if (event.target !== form || !form.hasAttribute("hx-ws:send") || !chosen.length) return;
        event.preventDefault();
        event.stopImmediatePropagation();
        if (!("sending" in form.dataset)) send();
      },
      { capture: true, signal },
    );

    if (chosenAt.has(path)) keep(chosenAt.get(path));
  });
}
