import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./shared/global.css";
import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { router } from "./app/router";
import { ignoreStrayFiles } from "./shared/drops";
import { watchFocus } from "./shared/focus";
import { heedTabs } from "./shared/session/otherTabs";
import { queryClient } from "./shared/session/state";
import { theme } from "./shared/theme";
import { ErrorBoundary } from "./shared/ui/ErrorBoundary";

// The content policy allows only style elements with this nonce: of Mantine, and of its scroll lock (get-nonce).
const nonce = document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? "";
setNonce(nonce);
ignoreStrayFiles();
watchFocus();
heedTabs(queryClient);

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
        <Notifications position="bottom-right" />
        <ErrorBoundary>
          <QueryClientProvider client={queryClient}>
            <RouterProvider router={router} />
          </QueryClientProvider>
        </ErrorBoundary>
      </MantineProvider>
    </StrictMode>,
  );
}
