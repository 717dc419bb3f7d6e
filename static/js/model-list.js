// The models of the chosen connection, asked for when somebody is about to name one.
addEventListener("DOMContentLoaded", () => {
  const list = document.querySelector("datalist[data-models-of]");
  const connection = document.getElementById("id_connection");
  const model = document.getElementById("id_model");
  if (!list || !connection || !model) return;
  let shown;
  const fill = async () => {
    const wanted = connection.value;
    if (shown === wanted) return;
    shown = wanted;
    list.replaceChildren();
    const address = wanted ? list.dataset.modelsOf.replace("/0/", `/${encodeURIComponent(wanted)}/`) : list.dataset.environment;
    try {
      const answer = await fetch(address);
      const options = answer.ok && !answer.redirected ? await answer.text() : "";
      if (shown === wanted) list.innerHTML = options;
    } catch {
      shown = undefined; // the next look asks again
    }
  };
  model.addEventListener("focus", fill);
  connection.addEventListener("change", fill);
});
