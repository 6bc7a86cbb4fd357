package message

import "strconv"

// What is appended here is one line without its end: a line feed or carriage
// return in params, result or data can only stand between the tokens of valid
// JSON, and becomes a blank.

// AppendRequest writes a request. params is one object, or nil for none.
func AppendRequest(dst []byte, id ID, method string, params []byte) []byte {
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), id...)
	return appendCall(dst, method, params)
}

// AppendNotification writes a notification.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	return appendCall(append(dst, `{"jsonrpc":"2.0"`...), method, params)
}

func appendCall(dst []byte, method string, params []byte) []byte {
	dst = append(append(dst, `,"method":`...), Quote(method)...)
	if params != nil {
		dst = appendFlat(append(dst, `,"params":`...), params)
	}
	return append(dst, '}')
}

// AppendResult writes a response with a result, which is one object.
func AppendResult(dst []byte, id ID, result []byte) []byte {
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), id...)
	return append(appendFlat(append(dst, `,"result":`...), result), '}')
}

// AppendError writes a response with an error. An empty id is that of a
// message whose own could not be read.
func AppendError(dst []byte, id ID, e *Error) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	if id == "" {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, id...)
	}
	dst = strconv.AppendInt(append(dst, `,"error":{"code":`...), int64(e.Code), 10)
	dst = append(append(dst, `,"message":`...), Quote(e.Message)...)
	if e.Data != nil {
		dst = appendFlat(append(dst, `,"data":`...), e.Data)
	}
	return append(dst, "}}"...)
}

// Append writes m.
func (m *Message) Append(dst []byte) []byte {
	switch {
	case m.Kind == Request:
		return AppendRequest(dst, m.ID, m.Method, m.Params)
	case m.Kind == Notification:
		return AppendNotification(dst, m.Method, m.Params)
	case m.Error != nil:
		return AppendError(dst, m.ID, m.Error)
	}
	return AppendResult(dst, m.ID, m.Result)
}

func appendFlat(dst, v []byte) []byte {
	from := len(dst)
	dst = append(dst, v...)
	for i := from; i < len(dst); i++ {
		if dst[i] == '\n' || dst[i] == '\r' {
			dst[i] = ' '
		}
	}
	return dst
}
