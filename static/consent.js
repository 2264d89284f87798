// Improves the consent page; everything works without it.
(() => {
  "use strict";
  const form = document.querySelector("form[data-address]");
  if (!form) return;
  const boxes = [...form.querySelectorAll("input[name='scope']")];
  const allow = form.querySelector("button[value='allow']");
  const plain = allow.textContent;
  let sent = false;

  // A reload asks for the page again instead of repeating the sign-in, which counts only once.
  try {
    history.replaceState(null, "", form.dataset.address);
  } catch {
    // The page was opened from elsewhere, such as a file.
  }

  const name = () => {
    const ticked = boxes.filter((box) => box.checked).length;
    const counted = form.dataset.count.replace("{ticked}", ticked).replace("{all}", boxes.length);
    allow.textContent = ticked === 0 ? form.dataset.none : boxes.length === 1 ? plain : counted;
  };

  form.addEventListener("change", name);
  // Enter on a checkbox would press the form's first button: a decision nobody meant to make.
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.type === "checkbox") event.preventDefault();
  });
  form.addEventListener("submit", (event) => {
    if (sent) event.preventDefault();
    sent = true;
    // A page that could not be sent can be sent again.
    setTimeout(() => { sent = false; }, 8000);
  });
  // Also when the page comes back from the back/forward cache, with the boxes as they were left.
  addEventListener("pageshow", () => {
    sent = false;
    name();
  });
})();
