import {
  Box,
  Group,
  Menu,
  Text,
  UnstyledButton,
  useComputedColorScheme,
  useMantineColorScheme,
  VisuallyHidden,
} from "@mantine/core";
import { IconDotsVertical, IconLogout, IconLogout2, IconMoon, IconSun, IconUser } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { perform } from "../shared/mutations";
import { useSession, useSignOut } from "../shared/session/queries";
import { showFailure } from "../shared/ui/notices";
import { PersonAvatar } from "../shared/ui/PersonAvatar";
import classes from "./Shell.module.css";

export function UserMenu() {
  const { user, account } = useSession();
  const signOut = useSignOut();
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme("light") === "dark";
  const name = user.name || user.email;
  const leave = (everywhere: boolean) => perform(signOut, everywhere, { onError: showFailure });
  return (
    <Menu width={232} position="top-start" shadow="md">
      <Menu.Target>
        <UnstyledButton className={classes.user}>
          <Group wrap="nowrap" gap="sm">
            <VisuallyHidden>Your menu: </VisuallyHidden>
            <PersonAvatar name={name} size={34} />
            <Box flex={1} miw={0}>
              <Text size="sm" fw={600} truncate>
                {name}
              </Text>
              <Text size="xs" c="dimmed" truncate>
                {account.name}
              </Text>
            </Box>
            <IconDotsVertical size={16} aria-hidden />
          </Group>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component={Link} to="/profile" leftSection={<IconUser size={16} aria-hidden />}>
          Your profile
        </Menu.Item>
        <Menu.Item
          leftSection={dark ? <IconSun size={16} aria-hidden /> : <IconMoon size={16} aria-hidden />}
          onClick={() => setColorScheme(dark ? "light" : "dark")}
        >
          {dark ? "Light colours" : "Dark colours"}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={16} aria-hidden />} onClick={() => leave(false)}>
          Sign out
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout2 size={16} aria-hidden />} onClick={() => leave(true)}>
          Sign out everywhere
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
