// What moves on every page: copying a text.
for (const button of document.querySelectorAll("[data-copies]")) {
  button.addEventListener("click", async () => {
    const text = button.parentElement.querySelector("pre").textContent;
    const label = button.firstChild;
    try {
      await navigator.clipboard.writeText(text);
      label.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(button.parentElement.querySelector("pre"));
      label.textContent = "Selected";
    }
    setTimeout(() => { label.textContent = "Copy"; }, 1500);
  });
}
