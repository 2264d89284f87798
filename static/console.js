// Improves the console: instants in the reader's own time, and ids that are copied with one press. Everything works
// without it.
(() => {
  "use strict";
  for (const time of document.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.title = at.toISOString().replace("T", " ").replace(/(\.000)?Z$/, " UTC");
    // Swedish dates are ISO 8601's, which nobody reads the wrong way round.
    time.textContent = at.toLocaleString("sv-SE", { dateStyle: "short", timeStyle: "short" });
  }

  // A browser gives this to pages of a secure origin alone; elsewhere a double click marks the whole id.
  if (!navigator.clipboard) return;
  const said = document.createElement("p");
  said.className = "unseen";
  said.setAttribute("role", "status");
  document.querySelector("main").append(said);
  for (const id of document.querySelectorAll(".copies")) {
    const text = id.querySelector(".id").textContent;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.title = "Copy";
    button.setAttribute("aria-label", `Copy ${text}`);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(text);
      said.textContent = `Copied ${text}`;
      button.classList.add("copied");
      setTimeout(() => button.classList.remove("copied"), 1500);
    });
    id.append(button);
  }
})();
