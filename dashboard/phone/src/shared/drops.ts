/** Files that are dragged onto the page. */

function carriesFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

/** Keeps the browser from leaving the page, and what was written there, for a file that is dropped. */
export function ignoreStrayFiles(): void {
  const ignore = (event: DragEvent) => {
    if (!carriesFiles(event) || event.defaultPrevented || event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    if (event.dataTransfer) event.dataTransfer.dropEffect = "none";
  };
  addEventListener("dragover", ignore);
  addEventListener("drop", ignore);
}

/** What takes a file that is dropped on it. */
export function takesFile(onFile: (file: File) => void) {
  return {
    onDragOver: (event: DragEvent) => carriesFiles(event) && event.preventDefault(),
    onDrop: (event: DragEvent) => {
      const file = event.dataTransfer?.files[0];
      if (!file) return;
      event.preventDefault();
      onFile(file);
    },
  };
}
