/** Makes a token: name, role, data sources, scope, expiry. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useBlocker } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { Radio, RadioGroup } from "react-aria-components";
import { api, data, type Schemas } from "../../api/client";
import { datasourcesQuery } from "../../api/datasources";
import { useMe } from "../../api/me";
import { useTexts } from "../../i18n";
import { Actions, Button, Checkbox, Dialog, Select, TextField } from "../../ui/controls";
import { Form } from "../../ui/form";
import { errorOf, Failure, Loaded } from "../../ui/page";
import { TEXTS } from "./texts";

type Role = Schemas["Role"];
type CreatedToken = Schemas["CreatedToken"];

const ROLES: readonly Role[] = ["viewer", "editor", "approver", "admin"];
const LINEAGE = "lineage:write";

export function TokenForm({ isLocal, onClose, onCreated }: { isLocal: boolean; onClose: () => void; onCreated: (token: CreatedToken) => void }) {
  const t = useTexts(TEXTS);
  const me = useMe();
  const [name, setName] = useState("");
  // Without an admin among the tokens the next one could not be made here.
  const [role, setRole] = useState<Role>(isLocal ? "admin" : "viewer");
  // A bound admin makes tokens that are bound as narrowly.
  const [isBound, setBound] = useState(me.datasources !== null);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(me.datasources ?? []));
  const [scope, setScope] = useState("");
  const [expiresAt, setExpiresAt] = useState("");
  const [isChecked, setChecked] = useState(false);
  const sources = useQuery(datasourcesQuery);
  // The text comes once, with the answer: until then the page is not left.
  const isMaking = useRef(false);
  useBlocker({ shouldBlockFn: () => isMaking.current, enableBeforeUnload: () => isMaking.current });
  const create = useMutation({
    mutationFn: async (body: Schemas["CreateToken"]) => {
      isMaking.current = true;
      try {
        return await data<CreatedToken>(api.POST("/api/v1/tokens", { body }));
      } finally {
        isMaking.current = false;
      }
    },
    onSuccess: onCreated,
  });
  const isUnchosen = isBound && chosen.size === 0;

  const submit = () => {
    setChecked(true);
    if (isUnchosen) return;
    create.mutate({
      name: name.trim(), role,
      ...(isBound ? { datasources: [...chosen] } : {}),
      ...(scope === "" ? {} : { scopes: [scope] }),
      ...(expiresAt.trim() === "" ? {} : { expiresAt: expiresAt.trim() }),
    });
  };
  const turn = (source: string, on: boolean) => setChosen(new Set(on ? [...chosen, source] : [...chosen].filter((one) => one !== source)));
  return (
    <Dialog title={t.add} isOpen isBusy={create.isPending} onClose={onClose}>
      <Form onSubmit={submit} isBusy={create.isPending}>
        {isLocal && <div className="note"><p>{t.localNote}</p></div>}
        <TextField label={t.name} value={name} onChange={setName} hint={t.nameHint} error={errorOf(create.error, "name")} maxLength={100} isRequired autoFocus />
        <Select label={t.role} value={role} onChange={setRole} choices={ROLES.map((one) => ({ value: one, label: t.roles[one] ?? one }))} />
        {isLocal && role !== "admin" && <div className="note"><p>{t.localNotAdmin}</p></div>}
        <RadioGroup value={isBound ? "some" : "all"} onChange={(value) => setBound(value === "some")} className="admin-radios" aria-label={t.datasources}>
          <span className="admin-legend">{t.datasources}</span>
          <Radio value="all" className="admin-radio" isDisabled={me.datasources !== null}>{t.allSources}</Radio>
          <Radio value="some" className="admin-radio">{t.someSources}</Radio>
        </RadioGroup>
        {isBound && (
          <div className="admin-sources">
            <Loaded query={sources}>
              {(all) => (
                <>
                  {all.filter((source) => me.datasources === null || me.datasources.includes(source.name)).map((source) => (
                    <Checkbox key={source.id} label={source.name} isSelected={chosen.has(source.name)} onChange={(on) => turn(source.name, on)} />
                  ))}
                </>
              )}
            </Loaded>
            {isChecked && isUnchosen && <p className="admin-wrong" role="alert">{t.noSourceChosen}</p>}
            <p className="small">{t.sourcesNote}</p>
          </div>
        )}
        <Select label={t.scopes} value={scope} onChange={setScope} choices={[{ value: "", label: t.wholeScope }, { value: LINEAGE, label: t.lineageScope }]} />
        <TextField label={t.expires} value={expiresAt} onChange={setExpiresAt} hint={t.expiresHint} placeholder="2027-01-31 00:00:00" error={errorOf(create.error, "expiresAt")} />
        <div className="row">
          {[30, 90].map((days) => <Button key={days} onPress={() => setExpiresAt(inDays(days))}>{t.days(days)}</Button>)}
          <Button onPress={() => setExpiresAt(inDays(365))}>{t.year}</Button>
        </div>
        <Failure error={create.error} shown={["name", "expiresAt"]} />
        <Actions>
          <Button isDisabled={create.isPending} onPress={onClose}>{t.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={create.isPending} isDisabled={name.trim() === ""}>{t.create}</Button>
        </Actions>
      </Form>
    </Dialog>
  );
}

/** The end of that day, as the interface writes times. */
function inDays(days: number): string {
  const day = new Date();
  day.setDate(day.getDate() + days);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())} 23:59:59`;
}
