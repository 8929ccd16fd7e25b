import { useCreateKey } from "./api";
import { KeyFormDialog } from "./KeyFormDialog";
import { NewKeyDialog } from "./NewKeyDialog";

/** First what the key is good for, then the key itself, once. */
export function CreateKeyDialog({ onClose }: { onClose: () => void }) {
  const create = useCreateKey();
  if (create.data) return <NewKeyDialog made={create.data} onStored={onClose} />;
  return (
    <KeyFormDialog
      isBusy={create.isPending}
      error={create.error}
      onCreate={(order) => create.mutate(order)}
      onClose={onClose}
    />
  );
}
