import { Center, Loader, Modal, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { SignInForm } from "../pages/sign-in/SignInForm";
import { SignInPage } from "../pages/sign-in/SignInPage";
import { useLiveUpdates } from "../shared/live/live";
import { usePresenceNotices } from "../shared/live/presence";
import { sessionQuery } from "../shared/session/queries";
import { Failure } from "../shared/ui/Failure";
import { Shell } from "./Shell";

/**
 * Shows the app to a person who is signed in, and otherwise the form, at the same address. When a session expires, the
 * page stays where it is, with everything that was typed, and the form is laid over it.
 */
export function SignedIn() {
  const { data: state, error, refetch } = useQuery(sessionQuery);
  if (!state) {
    if (error) return <Failure title="The gateway does not answer" error={error} onRetry={() => void refetch()} />;
    return (
      <Center h="100vh">
        <Loader type="dots" aria-label="Loading" />
      </Center>
    );
  }
  if (state.status === "out") return <SignInPage />;
  return (
    <>
      <LiveUpdates user={state.session.user.id} />
      <Shell key={state.session.user.id} />
      <SignInAgain opened={state.status === "expired"} email={state.session.user.email} />
    </>
  );
}

/** A component of its own: its effect is run before those of the pages, so that they load after the stream was asked for. */
function LiveUpdates({ user }: { user: string }) {
  useLiveUpdates(user);
  usePresenceNotices();
  return null;
}

function SignInAgain({ opened, email }: { opened: boolean; email: string }) {
  return (
    <Modal
      opened={opened}
      onClose={() => {}}
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
      title="Your session has ended"
      overlayProps={{ blur: 4 }}
      zIndex={1000} // above dialogs of the page
    >
      <Stack>
        <Text c="dimmed">Sign in to go on where you were. What you typed is still here.</Text>
        <SignInForm email={email} />
      </Stack>
    </Modal>
  );
}
