/** Whether files are dragged, and not text or a link. */
export function carriesFiles(data: DataTransfer | null): boolean {
  return data?.types.includes("Files") ?? false;
}

/** Keeps the browser from leaving the page for a file that is dropped where nothing takes it. */
export function ignoreStrayFiles(target: EventTarget = window): void {
  const ignore = (event: Event) => {
    const { dataTransfer } = event as DragEvent;
    if (!dataTransfer || event.defaultPrevented || !carriesFiles(dataTransfer) || isFileInput(event.target)) return;
    event.preventDefault();
    dataTransfer.dropEffect = "none";
  };
  target.addEventListener("dragover", ignore);
  target.addEventListener("drop", ignore);
}

function isFileInput(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement && target.type === "file";
}
