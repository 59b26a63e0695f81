internal import Glibc
internal import NIOCore
internal import NIOPosix

/// Turns errors of the system and of NIO into what people understand.
enum FailureText {
    static func of(_ error: any Error) -> String {
        switch error {
        case let error as IOError:
            Self.ofErrno(error.errnoCode)
        case let error as ChannelError where error == .eof:
            "the peer closed the connection"
        default:
            "\(error)"
        }
    }

    /// When listening, a host name that is not of this machine is the usual mistake.
    static func ofListening(_ error: any Error) -> String {
        switch error {
        case is IOError: Self.of(error)
        case let error as ChannelError where error == .ioOnClosedChannel: "the transport was shut down"
        default: "the host name has no address on this machine"
        }
    }

    static func meansNoIPv6(_ error: any Error) -> Bool {
        guard let error = error as? IOError else { return false }
        return error.errnoCode == EAFNOSUPPORT || error.errnoCode == EADDRNOTAVAIL
    }

    static func ofErrno(_ code: CInt) -> String {
        switch code {
        case ECONNRESET: "the peer reset the connection"
        case EPIPE: "the peer closed the connection"
        case ETIMEDOUT: "the peer no longer answers"
        case EADDRINUSE: "the port is in use already"
        case EADDRNOTAVAIL: "this machine has no such address"
        case EACCES: "permission denied"
        case EMFILE, ENFILE: "too many files are open"
        case ENETUNREACH, EHOSTUNREACH: "there is no route to the host"
        default: String(cString: strerror(code))
        }
    }
}

extension DialFailure {
    init(_ error: any Error) {
        switch error {
        case let error as NIOConnectionError:
            if let last = error.connectionErrors.last {
                self.init(last.error)
            } else {
                self = .unknownHost
            }
        case let error as ChannelError:
            if case .connectTimeout = error {
                self = .timedOut
            } else {
                self = .failed(FailureText.of(error))
            }
        case let error as IOError:
            switch error.errnoCode {
            case ECONNREFUSED: self = .refused
            case ETIMEDOUT: self = .timedOut
            case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN: self = .unreachable
            default: self = .failed(FailureText.of(error))
            }
        default:
            self = .failed(FailureText.of(error))
        }
    }
}
