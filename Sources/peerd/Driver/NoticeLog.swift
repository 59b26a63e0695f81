internal import Engine
internal import Logging
internal import NIOConcurrencyHelpers

/// Writes notices to the log, and not more of a kind than anybody reads.
///
/// A member, or a stranger, can have a device notice the same thing again and again, under many names that he makes up.
final class NoticeLog: Sendable {
    /// Lines in one window: of one kind about one device, and of one kind in all.
    static let countMaxByDevice = 10
    static let countMax = 100
    /// How long a window is.
    static let windowMilliseconds: UInt64 = 600_000

    private struct Window {
        var start: UInt64
        var countByDevice: [String: Int] = [:]
        var count = 0
    }

    private let windows = NIOLockedValueBox<[String: Window]>([:])
    private let logger: Logger
    private let now: @Sendable () -> UInt64

    /// `now`: monotonic milliseconds.
    init(_ logger: Logger, now: @escaping @Sendable () -> UInt64) {
        self.logger = logger
        self.now = now
    }

    func write(_ notice: Notice) {
        guard let isLast = self.admit(notice.subject) else { return }
        self.logger.log(level: notice.logLevel, "\(NoticeText.of(notice))")
        guard isLast else { return }
        let minutes = Self.windowMilliseconds / 60_000
        self.logger.notice("More lines like this are suppressed for up to \(minutes) minutes.")
    }

    /// Whether a notice is the last of its kind that is told in this window; nil if that was told before.
    private func admit(_ subject: (kind: String, device: String)?) -> Bool? {
        guard let (kind, device) = subject else { return false }
        let now = self.now()
        return self.windows.withLockedValue { windows in
            var window = windows[kind] ?? Window(start: now)
            if now >= window.start + Self.windowMilliseconds { window = Window(start: now) }
            let count = window.countByDevice[device] ?? 0
            guard count < Self.countMaxByDevice, window.count < Self.countMax else { return nil }
            window.countByDevice[device] = count + 1
            window.count += 1
            windows[kind] = window
            return count + 1 == Self.countMaxByDevice || window.count == Self.countMax
        }
    }
}

extension Notice {
    /// What it is about, if others can bring it about again and again.
    fileprivate var subject: (kind: String, device: String)? {
        switch self {
        case .connected(let device): ("connected", device)
        case .disconnected(let device): ("disconnected", device)
        case .addressFailed(let address, _): ("addressFailed", address.description)
        case .memberMet(let device): ("memberMet", device)
        case .tooManySessions(let device, _): ("tooManySessions", device)
        case .pairingLapsed(let device): ("pairingLapsed", device)
        case .held(let device, _): ("held", device)
        case .clockDiffers(let device, _): ("clockDiffers", device)
        case .forked(let device, _): ("forked", device)
        case .protocolViolation(let device, _): ("protocolViolation", device ?? "")
        case .removed(let device): ("removed", device)
        case .stateDiffers(let device, _): ("stateDiffers", device)
        case .stateAgrees(let device): ("stateAgrees", device)
        case .erasedBytesRemain: ("erasedBytesRemain", "")
        case .erasuresWait: ("erasuresWait", "")
        case .paired, .clockSetBack, .newReplica, .storeFailed, .notKept, .addressesUnknown: nil
        }
    }

    fileprivate var logLevel: Logger.Level {
        switch self {
        case .connected, .disconnected, .paired, .memberMet, .pairingLapsed: .info
        case .newReplica(let reason): reason == .first ? .debug : .notice
        case .held, .clockDiffers, .clockSetBack, .forked, .protocolViolation, .addressFailed, .tooManySessions,
            .removed:
            .warning
        case .storeFailed, .erasedBytesRemain, .stateDiffers: .error
        case .stateAgrees: .notice
        case .notKept, .erasuresWait, .addressesUnknown: .warning
        }
    }
}
