import { IconTemplate } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useChannel } from "../../shared/channels";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { EmptyState } from "../../shared/ui/EmptyState";
import { PageHeader } from "../../shared/ui/PageHeader";

/** A page that only an official channel has. */
export function OfficialPage({ children }: { children: ReactNode }) {
  const channel = useChannel();
  return (
    <ChannelPage>
      {channel?.kind === "official" ? (
        children
      ) : (
        <>
          <PageHeader title="Templates" />
          <EmptyState icon={IconTemplate} title="This channel has no templates">
            Templates belong to official numbers. A number that is linked by QR code sends any text at any time. Choose
            an official channel to see its templates.
          </EmptyState>
        </>
      )}
    </ChannelPage>
  );
}
