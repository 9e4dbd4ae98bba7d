/** Acts, but not on the second click of a double click: by then, the button or its place may mean something else. */
export const onFirstClick =
  (act: () => void) =>
  ({ detail }: { detail: number }): void => {
    if (detail < 2) act();
  };
