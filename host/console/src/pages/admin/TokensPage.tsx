/** Tokens: who may do what. Their text is shown once, when they are made. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useMay, useMe } from "../../api/me";
import { useChange } from "../../api/query";
import { signIn, signOut } from "../../api/session";
import { useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Confirm } from "../../ui/confirm";
import { Button } from "../../ui/controls";
import { marked } from "../../ui/marks";
import { Empty, Loaded, Page, Tag, Time } from "../../ui/page";
import { type Columns, DataTable } from "../../ui/table";
import { NewToken } from "./NewToken";
import { TEXTS } from "./texts";
import { TokenForm } from "./TokenForm";
import "./style.css";

type Token = Schemas["Token"];
type CreatedToken = Schemas["CreatedToken"];

export default function TokensPage() {
  const t = useTexts(TEXTS);
  const may = useMay();
  const me = useMe();
  const client = useQueryClient();
  const { text, set } = useAddress();
  const tokens = useQuery({ queryKey: ["tokens"], queryFn: () => data<Token[]>(api.GET("/api/v1/tokens")) });
  const [created, setCreated] = useState<CreatedToken | null>(null);
  const [isSignedIn, setSignedIn] = useState(true);
  const isLocal = me.kind === "local";

  const show = async (token: CreatedToken) => {
    set({ add: undefined });
    setCreated(token);
    // The first token ends local mode, and with it this page's rights.
    if (isLocal) await signIn(token.token).then(() => setSignedIn(true), () => setSignedIn(false));
    void client.invalidateQueries({ queryKey: ["tokens"] });
  };
  const close = () => {
    setCreated(null);
    if (isLocal) void client.invalidateQueries();
  };
  return (
    <Page title={t.tokens} lead={t.tokensLead} actions={
      may("createToken") && <Button kind="primary" icon="plus" onPress={() => set({ add: true }, true)}>{t.add}</Button>
    }>
      <Loaded query={tokens}>{(all) => <Tokens tokens={all} isLocal={isLocal} />}</Loaded>
      {text("add") !== "" && may("createToken") && <TokenForm isLocal={isLocal} onClose={() => set({ add: undefined })} onCreated={(token) => void show(token)} />}
      {created && <NewToken token={created} note={isSignedIn ? undefined : t.signInFailed} onClose={close} />}
    </Page>
  );
}

function Tokens({ tokens, isLocal }: { tokens: Token[]; isLocal: boolean }) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const me = useMe();
  const [revoked, setRevoked] = useState<Token | null>(null);
  const revoke = useChange((id: number) => data(api.DELETE("/api/v1/tokens/{id}", { params: { path: { id } } })), [["tokens"]]);
  const isOwn = (token: Token) => me.kind === "token" && me.name === token.name;
  const columns: Columns<Token> = [
    { header: t.name, accessorFn: (token) => token.name, cell: ({ row }) => <span className="strong">{marked(row.original.name)}</span> },
    { header: t.role, accessorFn: (token) => token.role, cell: ({ row }) => <Tag>{row.original.role}</Tag> },
    {
      header: t.datasources, accessorFn: (token) => token.datasources?.join(", ") ?? "",
      cell: ({ row: { original: { datasources } } }) => (datasources === null
        ? <span className="faint">{t.allSources}</span>
        : <span className="row">{datasources.map((name) => <Tag key={name}>{name}</Tag>)}</span>),
    },
    {
      header: t.scopes, accessorFn: (token) => token.scopes.join(", "),
      cell: ({ row: { original: { scopes } } }) => (scopes.length === 0 ? <span className="faint">–</span> : scopes.map((scope) => <Tag key={scope} tone="warn">{scope}</Tag>)),
    },
    { header: t.expires, accessorFn: (token) => token.expiresAt ?? "9999", cell: ({ row }) => row.original.expiresAt ?? <span className="faint">{t.never}</span> },
    { header: t.created, accessorFn: (token) => token.createdAt, cell: ({ row }) => <Time value={row.original.createdAt} /> },
    {
      header: "", id: "actions", enableSorting: false,
      cell: ({ row }) => may("revokeToken") && <Button kind="quiet" onPress={() => setRevoked(row.original)}>{t.revoke}</Button>,
    },
  ];
  return (
    <>
      <div className="admin-wide">
        <DataTable label={t.tokens} rows={tokens} columns={columns} keyOf={(token) => String(token.id)}
          empty={<Empty icon="key" title={t.empty}>{isLocal && t.emptyLocal}</Empty>} />
      </div>
      <Confirm title={t.revokeTitle(revoked?.name ?? "")} action={t.revoke} isDanger isOpen={revoked !== null} onClose={() => setRevoked(null)}
        onConfirm={async () => {
          if (!revoked) return;
          await revoke.mutateAsync(revoked.id);
          if (!isOwn(revoked)) return;
          await signOut().catch(() => undefined);
          window.location.assign("/");
        }}>
        <p>{t.revokeText}</p>
        {revoked && isOwn(revoked) && <p className="strong">{t.revokeOwn}</p>}
        {tokens.length === 1 && <p className="strong">{t.revokeLast}</p>}
      </Confirm>
    </>
  );
}
