import { SimpleGrid, Textarea, TextInput } from "@mantine/core";
import { useFields } from "../../shared/fields";
import { performChange } from "../../shared/mutations";
import { Form } from "../../shared/ui/Form";
import { Loaded } from "../../shared/ui/Loaded";
import { showDone } from "../../shared/ui/notices";
import { Section } from "../../shared/ui/Section";
import { SkeletonRows } from "../../shared/ui/SkeletonRows";
import { Unsaved } from "../../shared/ui/Unsaved";
import { Fact } from "./ChannelCard";
import { profileOf, profileValues } from "./profile";
import { type Profile, useChangeProfile, useProfile } from "./queries";

/** The business profile that people see on the network. */
export function ProfileSection({ id, mayManage }: { id: string; mayManage: boolean }) {
  const profile = useProfile(id);
  return (
    <Section title="Business profile" text="What people see on the network.">
      <Loaded query={profile} loading={<SkeletonRows label="Loading the profile" rows={2} />}>
        {(found) => (mayManage ? <ProfileForm id={id} profile={found} /> : <ProfileFacts profile={found} />)}
      </Loaded>
    </Section>
  );
}

function ProfileFacts({ profile }: { profile: Profile }) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <Fact label="About">{profile.about || "–"}</Fact>
      <Fact label="Description">{profile.description || "–"}</Fact>
      <Fact label="Address">{profile.address || "–"}</Fact>
      <Fact label="E-mail">{profile.email || "–"}</Fact>
      <Fact label="Websites">{profile.websites?.join(", ") || "–"}</Fact>
    </SimpleGrid>
  );
}

const FIELDS = ["about", "address", "description", "email", "websites"];

function ProfileForm({ id, profile }: { id: string; profile: Profile }) {
  const change = useChangeProfile(id);
  const { values, before, isEdited, text } = useFields(profileValues(profile), change.error);
  const submit = () => performChange(change, profileOf(values, before), () => showDone("The profile is changed."));
  return (
    <Form action="Save the profile" busy={change.isPending} error={change.error} fields={FIELDS} onSubmit={submit}>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput label="About" maxLength={139} {...text("about")} />
        <TextInput label="E-mail" maxLength={128} {...text("email")} />
        <TextInput label="Address" maxLength={256} {...text("address")} />
        <TextInput label="Websites" placeholder="https://shop.example https://blog.example" {...text("websites")} />
      </SimpleGrid>
      <Unsaved edited={isEdited} />
      <Textarea label="Description" maxLength={512} autosize minRows={2} maxRows={6} {...text("description")} />
    </Form>
  );
}
