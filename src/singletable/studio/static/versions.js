// The sliders of a document's versions: a number while they move, the page when they rest.
const form = document.querySelector("[data-versions]");
if (form) {
  form.querySelector("[data-without-script]").hidden = true;
  let waiting = 0;
  for (const slider of form.querySelectorAll("input[type=range]")) {
    const output = form.querySelector(`output[for="${slider.id}"]`);
    slider.addEventListener("input", () => {
      output.textContent = `version ${slider.value}`;
    });
    slider.addEventListener("change", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => form.requestSubmit(), 350);
    });
  }
}
