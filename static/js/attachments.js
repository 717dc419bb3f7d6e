// Files that go with the next message: chosen, dropped or pasted. They travel with the form, as they do without
// a script; where the page is live the form is sent without leaving it.

// Why these files cannot be sent at once, or "".
const refusalOf = (files) => {
  const { mostFiles, mostBytes, tooMany, tooLarge } = document.getElementById("composer-files").dataset;
  if (files.length > Number(mostFiles)) return tooMany;
  const size = files.reduce((sum, file) => sum + file.size, 0);
  return size > Number(mostBytes) ? tooLarge : "";
};

// Of these files those that can be sent at once with what is chosen, the others, and why those cannot.
const fit = (files, chosen = []) => {
  const fitting = [];
  const others = [];
  let refusal = "";
  for (const file of files) {
    const why = refusalOf([...chosen, ...fitting, file]);
    refusal ||= why;
    (why ? others : fitting).push(file);
  }
  return { fitting, others, refusal };
};

// Sentences one after the other; Chinese needs no space between them.
const inOneLine = (...sentences) => sentences.filter(Boolean).join(document.documentElement.lang.startsWith("zh") ? "" : " ");
// A sentence that names the first of these files and counts the others.
const MOST_NAMES = 5;
const notAdded = (files) => {
  const { leftOut, leftOutMore } = document.getElementById("composer-files").dataset;
  const names = files.slice(0, MOST_NAMES).map(({ name }) => name);
  if (files.length > MOST_NAMES) names.push(leftOutMore.replace("/n", files.length - MOST_NAMES));
  return leftOut.replace("/x", () => new Intl.ListFormat(document.documentElement.lang).format(names));
};

// The same file, also after a reload.
const fileId = ({ name, size, lastModified }) => [name, size, lastModified].join();

const held = (files) => {
  const data = new DataTransfer();
  for (const file of files) data.items.add(file);
  return data.files;
};

// A photo that is larger than what models see, smaller; or as it is, where that fails.
const LONGEST_SIDE = 2048; // pixels
const scaledDown = async (file) => {
  try {
    const picture = await createImageBitmap(file);
    const scale = Math.min(1, LONGEST_SIDE / Math.max(picture.width, picture.height));
    const canvas = new OffscreenCanvas(Math.ceil(picture.width * scale), Math.ceil(picture.height * scale));
    const paper = canvas.getContext("2d");
    paper.fillStyle = "white"; // beneath what is transparent
    paper.fillRect(0, 0, canvas.width, canvas.height);
    paper.drawImage(picture, 0, 0, canvas.width, canvas.height);
    picture.close();
    const type = "image/jpeg";
    const content = await canvas.convertToBlob({ type, quality: 0.85 });
    return new File([content], file.name.replace(/(\.\w+)?$/, ".jpg"), { type, lastModified: file.lastModified });
  } catch {
    return file;
  }
};

{
  // The files of unsent messages, by user and page, in the browser's database, which takes files. One act at a time.
  const opened = () =>
    new Promise((resolve, reject) => {
      const opening = indexedDB.open("attachments", 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore("files");
      opening.onsuccess = () => resolve(opening.result);
      opening.onerror = () => reject(opening.error);
    });
  const done = (transaction) =>
    new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
  let latest = Promise.resolve();
  const stored = (act) => {
    const next = latest.then(async () => {
      const database = await opened();
      const transaction = database.transaction("files", "readwrite");
      const asked = act(transaction.objectStore("files"));
      await done(transaction).finally(() => database.close());
      return asked.result;
    });
    latest = next.catch(() => {});
    return next;
  };
  const FIRST = "files of the first message are on their way";

  // Each tab has its own files, and one that is opened later those that were attached last. Those of a tab are kept for a month.
  const MONTH = 30 * 24 * 3600 * 1000; // milliseconds
  const isOld = (key) => Number(key.split(" ")[2] ?? Infinity) < Date.now() - MONTH;
  const forgetOld = (table) => {
    const asked = table.getAllKeys();
    asked.onsuccess = () => asked.result.filter(isOld).forEach((key) => table.delete(key));
  };
  const tab = () => {
    if (!keptInTab.get("tab")) keptInTab.set("tab", `${Date.now()} ${uuid()}`);
    return keptInTab.get("tab");
  };

  onContent((signal) => {
    const form = document.getElementById("composer");
    const input = document.getElementById("composer-files");
    if (!input) return;
    const text = document.getElementById("composer-text");
    const list = document.getElementById("composer-attached");
    const { path } = shown;
    const isLive = form.hasAttribute("hx-ws:send");
    const keyOf = (where) => `${document.documentElement.dataset.user} ${where}`;
    const ownKeyOf = (where) => `${keyOf(where)} ${tab()}`;
    let chosen = [];
    let sending = []; // which are not to be removed any more

    // A picture is shown by its content, which the page's policy allows; by an address of its own it is not.
    const isPicture = (file) => /^image\/(png|jpeg|gif|webp)$/.test(file.type);
    const isTooLarge = (file) => isPicture(file) && file.size > Number(input.dataset.mostPictureBytes);
    const preview = (file) => {
      if (!isPicture(file)) return [];
      const picture = new Image();
      const reader = new FileReader();
      picture.alt = "";
      picture.addEventListener("error", () => picture.remove());
      reader.addEventListener("load", () => (picture.src = reader.result));
      reader.readAsDataURL(file);
      return [picture];
    };

    // A long name is cut in its middle: those of a series differ at the end.
    const ENDING = 10; // characters
    const partsOf = (name) => {
      const end = name.length > 2 * ENDING ? -ENDING : name.length;
      return [name.slice(0, end), name.slice(end)].filter(Boolean).map((text) => Object.assign(document.createElement("span"), { textContent: text }));
    };

    // What came back with a message that was held is in the workspace. While the agent works there, it stays.
    const takeBack = async (file) => {
      const body = new FormData();
      body.set("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
      body.set("path", file.path);
      const answer = await post(`${path}files/delete/`, body).catch(() => null);
      if (!signal.aborted && !answer?.redirected) note(input.dataset.stays); // else it led back to the list of files
      document.getElementById("files")?.dispatchEvent(new Event("files-changed"));
    };

    const chip = (file) => {
      const row = document.createElement("li");
      const name = document.createElement("span");
      const remove = document.createElement("button");
      row.className = "attached";
      row.toggleAttribute("data-picture", isPicture(file));
      row.toggleAttribute("data-large", isTooLarge(file));
      name.title = file.name;
      name.append(...partsOf(file.name));
      remove.type = "button";
      remove.textContent = "×";
      remove.disabled = sending.includes(file);
      remove.setAttribute("aria-label", `${input.dataset.remove} ${file.name}`);
      remove.addEventListener("click", () => {
        keep(chosen.filter((each) => each !== file));
        if (file.line) takeBack(file);
        text.focus();
      });
      row.append(...preview(file), name, remove);
      return row;
    };

    // A reload may be faster than the database: until that has the files, what it is to have is kept besides.
    const store = (files, where = path) => {
      const key = keyOf(where);
      const due = JSON.stringify(files.map(fileId));
      keptInTab.set(`files ${key}`, due);
      // A file is stored without what is set on it.
      const rows = files.map((file) => ({ file, line: file.line, path: file.path }));
      const change = (table) => {
        forgetOld(table);
        const [asked] = [key, ownKeyOf(where)].map((each) => (files.length ? table.put(rows, each) : table.delete(each)));
        return asked;
      };
      return stored(change).then(() => keptInTab.get(`files ${key}`) === due && keptInTab.set(`files ${key}`, null));
    };

    // A database that does not answer holds up nothing.
    const giveUp = () => new Promise((resolve) => setTimeout(resolve, 1000));
    const show = (files) => {
      chosen = files;
      input.files = held(files);
      const grows = files.length > list.childElementCount;
      list.replaceChildren(...files.map(chip));
      if (grows) list.scrollTop = list.scrollHeight;
      list.hidden = files.length === 0;
    };
    const tellComposer = () => text.dispatchEvent(new Event("input", { bubbles: true })); // which keeps the draft
    // What is sent with other files is another message.
    const keep = (files) => {
      show(files);
      delete text.dataset.sent;
      form.elements.client_id.value = uuid();
      tellComposer();
      return store(files).catch(() => files.length && !signal.aborted && note(input.dataset.unkept));
    };

    const take = (files, scaled = []) => {
      const { fitting, others, refusal } = fit(files, chosen);
      const keeping = fitting.length ? keep([...chosen, ...fitting]) : show(chosen);
      const smaller = scaled.filter((file) => fitting.includes(file));
      const { smallerOne, smallerMany } = input.dataset;
      const told = smaller.length > 1 ? smallerMany.replace("/n", smaller.length) : smaller.map(({ name }) => smallerOne.replace("/x", () => name));
      note(inOneLine(refusal, refusal && notAdded(others), String(told)), !refusal);
      return keeping;
    };
    const add = (files) => {
      const scales = (file) => isTooLarge(file) && file.type !== "image/gif" && !file.line;
      if (!files.some(scales)) return take(files);
      show(chosen); // without what the field itself has
      const scaling = Promise.all(files.map((file) => (scales(file) ? scaledDown(file) : file)));
      const taking = Promise.all([scaling, preparing]).then(([ready]) => {
        const scaled = ready.filter((file) => !files.includes(file) && !isTooLarge(file));
        return !signal.aborted && { keeping: take(ready, scaled) };
      });
      prepare(taking); // but not what is stored of them
      return taking.then(({ keeping }) => keeping);
    };

    input.addEventListener("change", () => {
      add([...input.files]);
      if (!raisesKeyboard()) text.focus();
    });
    input.addEventListener("files-sent", () => chosen.length && keep([]));
    input.addEventListener("files-back", (event) => {
      const { files } = event.detail;
      if (refusalOf([...chosen, ...files])) event.preventDefault();
      else if (files.length) event.detail.keeping = Promise.race([add(files), giveUp()]);
    });

    const freeName = (name) => {
      const taken = chosen.map((file) => file.name);
      const names = [name, ...taken.map((_, at) => name.replace(/(?=\.)/, ` ${at + 2}`))];
      return names.find((each) => !taken.includes(each));
    };
    const putInto = (field, files) => {
      field.files = held(field.closest(".again") ? [...field.files, ...files] : files);
      for (const name of ["input", "change"]) field.dispatchEvent(new Event(name, { bubbles: true }));
    };
    // A table that was copied comes as text and as a picture of it; then the text is meant.
    const pastedFiles = ({ clipboardData }) => (clipboardData.types.includes("text/plain") ? [] : [...clipboardData.files]);
    document.addEventListener("paste", (event) => {
      const files = event.target.matches?.(".again textarea") ? pastedFiles(event) : [];
      if (!files.length) return;
      event.preventDefault();
      putInto(event.target.form.elements.files, files);
    }, { signal });
    text.addEventListener("paste", (event) => {
      const pasted = event.clipboardData.getData("text/plain");
      // What is longer than a message goes with it as a file.
      if (new Blob([pasted]).size > Number(text.dataset.mostBytes)) {
        event.preventDefault();
        return add([new File([pasted], freeName(input.dataset.pasted), { type: "text/plain" })]);
      }
      const files = pastedFiles(event);
      if (!files.length) return;
      event.preventDefault();
      add(files);
    });

    // What is dropped on the list of files is uploaded, on a message that is edited it goes with that one, and anything
    // else with the next one.
    const brings = (event) => event.dataTransfer?.types.includes("Files");
    const placeAt = ({ target }) => target.closest?.(".turn-dialog:has(.again), #files-panel:has(.files__upload)") ?? form;
    const mark = (place) => {
      for (const each of document.querySelectorAll("[data-drop]")) if (each !== place) delete each.dataset.drop;
      if (place) place.dataset.drop = "";
    };
    document.addEventListener("dragover", (event) => {
      if (!brings(event)) return;
      event.preventDefault();
      mark(placeAt(event));
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
      const place = placeAt(event);
      if (place === form) {
        add(files);
        return text.focus();
      }
      if (!files.length) return;
      putInto(place.querySelector("[type=file]"), files);
    }, { signal });

    // What was added while they were on their way stays.
    const sent = (said, files, id) => {
      if (text.value.startsWith(said)) text.value = text.value.slice(said.length).trimStart();
      keep(chosen.filter((file) => !files.includes(file)));
      if (signal.aborted) forgetDraft(path, id);
    };

    // A file of a message that came back is in the workspace, and its line is enough.
    const bodyOf = (said, files) => {
      const body = new FormData(form);
      const lines = files.flatMap(({ line }) => line ?? []);
      body.set("text", [said, lines.join("\n")].filter(Boolean).join("\n\n"));
      body.delete("files");
      for (const file of files) if (!file.line) body.append("files", file);
      return body;
    };

    const hold = (files) => {
      sending = files;
      form.toggleAttribute("data-sending", files.length > 0);
      [...list.children].forEach((row, at) => (row.lastChild.disabled = files.includes(chosen[at])));
    };
    const send = async () => {
      const [said, files, id] = [text.value, chosen, form.elements.client_id.value];
      hold(files);
      text.dataset.sent = text.value; // the composer then knows a repetition, and takes another id afterwards
      tellComposer();
      note(input.dataset.sending, true);
      try {
        const answer = await post(form.action, bodyOf(said, files));
        if (!signal.aborted) note(answer.ok ? "" : (await plainText(answer)) || input.dataset.lost);
        if (answer.ok) sent(said, files, id);
        if (answer.ok) document.getElementById("to-end").click();
      } catch {
        if (signal.aborted) return;
        form.dispatchEvent(new Event("lost"));
      } finally {
        hold([]);
      }
    };

    // What was chosen before a reload, or before the user left this page; earlier versions stored the files alone.
    const fileOf = (row) => (row.file ? Object.assign(row.file, { line: row.line, path: row.path }) : row);
    const due = JSON.parse(keptInTab.get(`files ${keyOf(path)}`));
    const storedKey = keptInTab.get(draftKey(path)) ? ownKeyOf(path) : keyOf(path);
    const restore = (files) => {
      const meant = files.filter((file) => !due || due.includes(fileId(file)));
      show([...meant, ...chosen]);
      if (meant.length < files.length) store(chosen);
    };
    const restoring = Promise.race([stored((table) => table.get(storedKey)), giveUp()])
      .then((rows) => rows && !signal.aborted && restore(rows.map(fileOf)))
      .catch(() => {});
    // While files are restored or scaled down, a message waits.
    let preparing;
    const prepare = (work) => {
      const mine = (preparing = work.finally(() => {
        if (preparing === mine) preparing = null;
      }));
    };
    prepare(restoring);
    // This page is what the first message led to.
    if (isLive && keptInTab.get(FIRST)) store([], "/").catch(() => {});
    keptInTab.set(FIRST, null);

    // A message that waited for the files is sent as it was; what was typed since then stays in the field.
    const sendOnly = (said, submitter) => {
      const since = text.value.startsWith(said) ? text.value.slice(said.length) : "";
      if (since) text.value = said;
      form.requestSubmit(submitter);
      if (!since) return;
      text.value = said + since;
      text.dispatchEvent(new Event("input", { bubbles: true }));
    };
    let isWaiting = false;

    // Ahead of the socket, which carries text alone.
    document.addEventListener(
      "submit",
      (event) => {
        if (event.target !== form) return;
        const { submitter } = event;
        if (!isLive && !preparing) return keptInTab.set(FIRST, chosen.length && "1");
        if (!preparing && !chosen.length) return;
        event.preventDefault();
        event.stopImmediatePropagation();
        if (preparing) {
          const said = text.value;
          if (!isWaiting) {
            preparing.then(() => {
              isWaiting = false;
              if (form.isConnected) sendOnly(said, submitter);
            });
          }
          isWaiting = true;
        } else if (!("sending" in form.dataset)) send();
      },
      { capture: true, signal },
    );
  });
}
