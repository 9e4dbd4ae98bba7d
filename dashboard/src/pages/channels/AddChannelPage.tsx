import { Anchor, SimpleGrid, Stack, Text, ThemeIcon, Title, UnstyledButton } from "@mantine/core";
import { type Icon, IconArrowLeft, IconBuildingStore, IconQrcode } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useMayManage } from "../../shared/session/queries";
import { EmptyState } from "../../shared/ui/EmptyState";
import { PageHeader } from "../../shared/ui/PageHeader";
import classes from "./ChannelCard.module.css";
import { OfficialForm } from "./OfficialForm";
import { QrForm } from "./QrForm";

type Kind = "official" | "qr";

export function AddChannelPage() {
  const [kind, setKind] = useState<Kind | null>(null);
  const mayManage = useMayManage();
  return (
    <>
      <BackToChannels />
      <PageHeader title="Add a channel">Connect a phone number, to send and receive its messages here.</PageHeader>
      {!mayManage ? (
        <EmptyState icon={IconQrcode} title="Only owners add channels">
          Ask an owner of the account to add the number, or to make you an owner.
        </EmptyState>
      ) : kind === "official" ? (
        <OfficialForm />
      ) : kind === "qr" ? (
        <QrForm />
      ) : (
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
          <Choice icon={IconBuildingStore} title="Official number" onClick={() => setKind("official")}>
            A number of the WhatsApp Business Platform. Templates, buttons, high volume. You need its access token.
          </Choice>
          <Choice icon={IconQrcode} title="Phone by QR code" onClick={() => setKind("qr")}>
            Any phone with WhatsApp, linked as a device. No app at the network is needed. For low volume.
          </Choice>
        </SimpleGrid>
      )}
    </>
  );
}

export function BackToChannels() {
  return (
    <Anchor
      renderRoot={(props) => <Link {...props} to="/channels" />}
      size="sm"
      display="inline-flex"
      mb="sm"
      style={{ alignItems: "center", gap: 6 }}
    >
      <IconArrowLeft size={15} aria-hidden />
      Channels
    </Anchor>
  );
}

type ChoiceProps = { icon: Icon; title: string; children: string; onClick: () => void };

function Choice({ icon: Picture, title, children, onClick }: ChoiceProps) {
  return (
    <UnstyledButton className={`surface ${classes.card}`} p="lg" onClick={onClick}>
      <Stack gap="sm">
        <ThemeIcon size={44} radius="md" variant="light">
          <Picture size={24} stroke={1.6} aria-hidden />
        </ThemeIcon>
        <Title order={2} size="h4">
          {title}
        </Title>
        <Text size="sm" c="dimmed">
          {children}
        </Text>
      </Stack>
    </UnstyledButton>
  );
}
