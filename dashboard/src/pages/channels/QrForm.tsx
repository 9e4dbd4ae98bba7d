import { TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useFields } from "../../shared/fields";
import { perform } from "../../shared/mutations";
import { Form } from "../../shared/ui/Form";
import { Section } from "../../shared/ui/Section";
import { digitsOf } from "./form";
import { useCreateLinked } from "./queries";

/** Creates a QR channel. Its page shows the code to scan. */
export function QrForm() {
  const create = useCreateLinked();
  const navigate = useNavigate();
  const { values, text } = useFields({ name: "", phone: "" }, create.error);
  const submit = () =>
    perform(
      create,
      { name: values.name.trim(), phone: digitsOf(values.phone) },
      { onSuccess: ({ id }) => void navigate({ to: "/channels/$channelId", params: { channelId: id } }) },
    );
  return (
    <Section title="Phone by QR code" text="Next, you scan a code with the phone.">
      <Form action="Continue" busy={create.isPending} error={create.error} fields={["name", "phone"]} onSubmit={submit}>
        <TextInput
          label="Name"
          description="How the channel is called here."
          {...text("name")}
          required
          data-autofocus
        />
        <TextInput
          label="Phone number"
          description="The number of the phone, with its country code."
          placeholder="+55 11 99999-8888"
          type="tel"
          {...text("phone")}
          required
        />
      </Form>
    </Section>
  );
}
