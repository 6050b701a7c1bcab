package syntax

// kind is the kind of a token of expression text. Command words have no
// tokens: the command parser reads their characters.
type kind uint8

const (
	tEOF kind = iota
	tBad      // unreadable text; the token carries the error
	tNewline
	tSemi
	tIdent
	tNumber
	tString   // "…" or """…"""
	tRaw      // '…' or '''…'''
	tRegex    // re"…"
	tDatetime // t"…"
	tLParen
	tRParen
	tLBracket
	tRBracket
	tLBrace
	tRBrace
	tComma
	tColon
	tDot
	tSafeDot // ?.
	tDotDot
	tDotDotEq
	tEllipsis
	tAssign
	tPlusEq
	tMinusEq
	tStarEq
	tSlashEq
	tArrow     // =>
	tThinArrow // ->
	tPlus
	tMinus
	tStar
	tSlash
	tPercent
	tBang
	tEq
	tNe
	tLt
	tLe
	tGt
	tGe
	tAnd
	tOr
	tCoalesce
	tAmp
	tPipe
	tCaret
	tQuestion
)

// kindNames are the names that messages use; `expected expression, found
// RParen` is a contract.
var kindNames = [...]string{
	tEOF: "Eof", tBad: "Bad", tNewline: "Newline", tSemi: "Semi", tIdent: "Ident",
	tNumber: "Number", tString: "Str", tRaw: "Str", tRegex: "Regex", tDatetime: "Datetime",
	tLParen: "LParen", tRParen: "RParen", tLBracket: "LBracket", tRBracket: "RBracket",
	tLBrace: "LBrace", tRBrace: "RBrace", tComma: "Comma", tColon: "Colon", tDot: "Dot",
	tSafeDot: "SafeDot", tDotDot: "DotDot", tDotDotEq: "DotDotEq", tEllipsis: "Ellipsis",
	tAssign: "Assign", tPlusEq: "PlusEq", tMinusEq: "MinusEq", tStarEq: "StarEq",
	tSlashEq: "SlashEq", tArrow: "FatArrow", tThinArrow: "Arrow", tPlus: "Plus",
	tMinus: "Minus", tStar: "Star", tSlash: "Slash", tPercent: "Percent", tBang: "Bang",
	tEq: "EqEq", tNe: "NotEq", tLt: "Lt", tLe: "Le", tGt: "Gt", tGe: "Ge",
	tAnd: "AndAnd", tOr: "OrOr", tCoalesce: "Coalesce", tAmp: "Amp", tPipe: "Pipe",
	tCaret: "Caret", tQuestion: "Question",
}

func (k kind) String() string { return kindNames[k] }

// token is one token at its place. nl is set when newlines were skipped before
// it because they mean nothing where it stands.
type token struct {
	kind       kind
	nl         bool
	start, end int
	bad        *Error
}

// punct maps spellings to kinds, longest first within a first byte.
var punct = [256][]struct {
	text string
	kind kind
}{
	'(': {{"(", tLParen}}, ')': {{")", tRParen}},
	'[': {{"[", tLBracket}}, ']': {{"]", tRBracket}},
	'{': {{"{", tLBrace}}, '}': {{"}", tRBrace}},
	',': {{",", tComma}}, ':': {{":", tColon}}, ';': {{";", tSemi}}, '\n': {{"\n", tNewline}},
	'.': {{"...", tEllipsis}, {"..=", tDotDotEq}, {"..", tDotDot}, {".", tDot}},
	'?': {{"?.", tSafeDot}, {"??", tCoalesce}, {"?", tQuestion}},
	'=': {{"==", tEq}, {"=>", tArrow}, {"=", tAssign}},
	'!': {{"!=", tNe}, {"!", tBang}},
	'<': {{"<=", tLe}, {"<", tLt}},
	'>': {{">=", tGe}, {">", tGt}},
	'+': {{"+=", tPlusEq}, {"+", tPlus}},
	'-': {{"->", tThinArrow}, {"-=", tMinusEq}, {"-", tMinus}},
	'*': {{"*=", tStarEq}, {"*", tStar}},
	'/': {{"/=", tSlashEq}, {"/", tSlash}},
	'%': {{"%", tPercent}},
	'&': {{"&&", tAnd}, {"&", tAmp}},
	'|': {{"||", tOr}, {"|", tPipe}},
	'^': {{"^", tCaret}},
}
