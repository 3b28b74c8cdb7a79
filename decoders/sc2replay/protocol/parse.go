package protocol

import (
	"fmt"
	"strconv"
	"strings"
)

// maxDepth bounds the nesting of types. The deepest published type has six levels.
const maxDepth = 16

// ParseType parses a type in the notation of the tables. It calls resolve for a bare name, which is the name of a
// struct. resolve may be nil.
func ParseType(s string, resolve func(name string) (*Type, error)) (*Type, error) {
	p := parser{s: s, resolve: resolve}
	t, err := p.typ(0)
	if err != nil {
		return nil, fmt.Errorf("type %.40q at %d: %w", s, p.i, err)
	}
	if p.i != len(s) {
		return nil, fmt.Errorf("type %.40q: unexpected %.20q", s, s[p.i:])
	}
	return t, nil
}

type parser struct {
	s       string
	i       int
	resolve func(string) (*Type, error)
}

// eat consumes token if it is next.
func (p *parser) eat(token string) bool {
	if strings.HasPrefix(p.s[p.i:], token) {
		p.i += len(token)
		return true
	}
	return false
}

func (p *parser) expect(token string) error {
	if !p.eat(token) {
		return fmt.Errorf("%q expected", token)
	}
	return nil
}

// word consumes letters, digits and underscores.
func (p *parser) word() string {
	start := p.i
	for p.i < len(p.s) {
		c := p.s[p.i]
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			break
		}
		p.i++
	}
	return p.s[start:p.i]
}

func (p *parser) typ(depth int) (*Type, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	switch {
	case p.eat("?"):
		elem, err := p.typ(depth + 1)
		return &Type{Kind: Optional, Elem: elem}, err
	case p.eat("["):
		t, err := p.sized(Array, "]")
		if err != nil {
			return nil, err
		}
		t.Elem, err = p.typ(depth + 1)
		return t, err
	case p.eat("blob("):
		return p.sized(Blob, ")")
	case p.eat("bits("):
		return p.sized(BitArray, ")")
	case p.eat("choice("):
		t, err := p.sized(Choice, "){")
		if err != nil {
			return nil, err
		}
		t.Fields, err = p.fields(depth, true)
		return t, err
	case p.eat("{"):
		fields, err := p.fields(depth, false)
		return &Type{Kind: Struct, Fields: fields}, err
	}
	start := p.i
	switch word := p.word(); word {
	case "":
		return nil, fmt.Errorf("a type is expected")
	case "bool":
		return &Type{Kind: Bool}, nil
	case "null":
		return &Type{Kind: Null}, nil
	case "fourcc":
		return &Type{Kind: FourCC}, nil
	default:
		if (word[0] == 'u' || word[0] == 'i') && len(word) > 1 && word[1] <= '9' {
			p.i = start
			return p.integer()
		}
		if p.resolve == nil {
			return nil, fmt.Errorf("unknown type %q", word)
		}
		return p.resolve(word)
	}
}

// sized parses an integer, which is a length or the number of an alternative, and the closing token.
func (p *parser) sized(k Kind, closing string) (*Type, error) {
	n, err := p.integer()
	if err != nil {
		return nil, err
	}
	if n.Bits > 32 || n.Offset < 0 || n.Offset > 1<<16 {
		return nil, fmt.Errorf("length %v out of range", n)
	}
	return &Type{Kind: k, Bits: n.Bits, Offset: n.Offset}, p.expect(closing)
}

// integer parses u8, i32, u4+1 or u0+40.
func (p *parser) integer() (*Type, error) {
	signed := p.eat("i")
	if !signed {
		if err := p.expect("u"); err != nil {
			return nil, err
		}
	}
	bits, err := strconv.ParseUint(p.word(), 10, 8)
	if err != nil || bits > 64 || signed && bits == 0 {
		return nil, fmt.Errorf("a number of bits up to 64 is expected")
	}
	t := &Type{Kind: Int, Bits: uint8(bits)}
	switch {
	case signed:
		t.Offset = -1 << (bits - 1)
	case p.eat("+"):
		t.Offset, err = strconv.ParseInt(p.word(), 10, 64)
	case p.eat("-"):
		t.Offset, err = strconv.ParseInt("-"+p.word(), 10, 64)
	}
	return t, err
}

// fields parses the contents of braces and the closing brace.
func (p *parser) fields(depth int, choice bool) ([]Field, error) {
	if p.eat("}") {
		return nil, nil
	}
	var fields []Field
	for {
		f := Field{Tag: NoTag}
		var err error
		if choice {
			if f.Tag, err = p.tag(); err != nil {
				return nil, err
			}
			if err := p.expect(":"); err != nil {
				return nil, err
			}
		}
		if f.Name = p.word(); f.Name == "" {
			return nil, fmt.Errorf("a name is expected")
		}
		if !choice && p.eat("#") {
			if f.Tag, err = p.tag(); err != nil {
				return nil, err
			}
		}
		if err := p.expect(" "); err != nil {
			return nil, err
		}
		if f.Type, err = p.typ(depth + 1); err != nil {
			return nil, err
		}
		f.Text = []byte(f.Name)
		fields = append(fields, f)
		if p.eat("}") {
			return fields, nil
		}
		if err := p.expect(", "); err != nil {
			return nil, err
		}
	}
}

func (p *parser) tag() (int, error) {
	n, err := strconv.ParseUint(p.word(), 10, 8)
	return int(n), err
}
