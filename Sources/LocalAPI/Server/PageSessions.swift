internal import CRDTCore
internal import Engine
internal import NIOCore
internal import PeerCrypto
internal import PeerdKit
internal import Synchronization

/// The browsers that were let in since the daemon was started, each by a link that works once.
///
/// Nothing of them outlives the daemon. While none runs, another program may take its port: it is sent the cookies of
/// the pages that are open.
final class PageSessions: Sendable {
    private struct Session {
        /// Names it to people; lets nobody in.
        let id: String
        let cookie: [UInt8]
        let agent: String
        let begun: WallTime
        var lastAsked: WallTime
        /// The links that the browser has used.
        var codes: [String]
        /// Its connections that ask for nothing again, such as WebSockets.
        var channels: [ObjectIdentifier: any Channel] = [:]
    }

    private struct State {
        /// When the codes of links end.
        var deadlines: [String: ContinuousClock.Instant] = [:]
        var sessions: [Session] = []
        /// The cookies of those whose link came twice, oldest first.
        var betrayed: [[UInt8]] = []

        func place(of cookie: [UInt8]) -> Int? {
            self.sessions.firstIndex { ConstantTime.areEqual($0.cookie, cookie) }
        }
    }

    private let state = Mutex(State())

    private static let patience = Duration.seconds(120)
    private static let countMax = 64
    private static let agentByteCountMax = 256

    /// Makes the code of a link.
    func makeCode() throws -> String {
        let code = try RandomText.hexadecimal(byteCount: 16)
        self.state.withLock { state in
            let now = ContinuousClock.now
            state.deadlines = state.deadlines.filter { $0.value > now }
            if state.deadlines.count >= Self.countMax,
                let oldest = state.deadlines.min(by: { $0.value < $1.value })
            {
                state.deadlines[oldest.key] = nil
            }
            state.deadlines[code] = now + Self.patience
        }
        return code
    }

    /// What the use of a link comes to.
    enum Use {
        /// A browser is let in, and gets this cookie.
        case began(cookie: [UInt8])
        /// The browser was in already.
        case isIn
        /// The link was used before, by another browser or program, which is out now.
        case ended
        case unknown
    }

    /// Uses a link; `cookie`: that of the browser, if it has one.
    ///
    /// Of two that use one link, one has got at it without right, and nobody knows which. So neither is in.
    func use(_ code: String, cookie: [UInt8]?, agent: String) throws -> Use {
        let made = Array(try RandomText.hexadecimal(byteCount: 32).utf8)
        let id = try RandomText.hexadecimal(byteCount: 4)
        let (use, surplus): (Use, [any Channel]) = self.state.withLock { state in
            let own = cookie.flatMap { state.place(of: $0) }
            if let place = state.sessions.firstIndex(where: { $0.codes.contains(code) }) {
                return place == own ? (.isIn, []) : (.ended, Self.end(place, isBetrayed: true, in: &state))
            }
            guard let deadline = state.deadlines.removeValue(forKey: code), deadline > .now else {
                return (.unknown, [])
            }
            if let own {
                state.sessions[own].codes.append(code)
                return (.isIn, [])
            }
            var surplus: [any Channel] = []
            if state.sessions.count >= Self.countMax,
                let oldest = state.sessions.indices.min(by: {
                    state.sessions[$0].lastAsked.milliseconds < state.sessions[$1].lastAsked.milliseconds
                })
            {
                surplus = Self.end(oldest, in: &state)
            }
            let now = SystemClock.now().wall
            let text = String(decoding: agent.utf8.prefix(Self.agentByteCountMax), as: UTF8.self)
            state.sessions.append(
                Session(id: id, cookie: made, agent: text, begun: now, lastAsked: now, codes: [code])
            )
            return (.began(cookie: made), surplus)
        }
        for channel in surplus { channel.close(promise: nil) }
        return use
    }

    /// Whether a cookie is that of a browser that is in.
    func has(_ cookie: [UInt8]) -> Bool {
        self.state.withLock { state in
            guard let place = state.place(of: cookie) else { return false }
            state.sessions[place].lastAsked = SystemClock.now().wall
            return true
        }
    }

    /// Whether a cookie was that of a browser whose link came twice.
    func wasBetrayed(_ cookie: [UInt8]) -> Bool {
        self.state.withLock { state in state.betrayed.contains { ConstantTime.areEqual($0, cookie) } }
    }

    /// Has a connection end with the session of a cookie.
    func attach(_ channel: any Channel, to cookie: [UInt8]) {
        let id = ObjectIdentifier(channel)
        let isIn = self.state.withLock { state in
            guard let place = state.place(of: cookie) else { return false }
            state.sessions[place].channels[id] = channel
            return true
        }
        guard isIn else { return channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in
            self.state.withLock { state in
                guard let place = state.place(of: cookie) else { return }
                state.sessions[place].channels[id] = nil
            }
        }
    }

    /// All of them, oldest first; `cookie`: that of whoever asks.
    func list(for cookie: [UInt8]?) -> [SessionAnswer] {
        self.state.withLock { state in
            let own = cookie.flatMap { state.place(of: $0) }
            return state.sessions.enumerated().map { place, session in
                SessionAnswer(
                    id: session.id,
                    agent: session.agent,
                    begunMs: Int64(clamping: session.begun.milliseconds),
                    lastAskedMs: Int64(clamping: session.lastAsked.milliseconds),
                    connections: session.channels.count,
                    current: place == own
                )
            }
        }
    }

    /// Signs a browser out, or all of them if `id` is nil; returns how many.
    func end(_ id: String?) -> Int {
        let (count, channels) = self.state.withLock { state in
            let places = state.sessions.indices.filter { id == nil || state.sessions[$0].id == id }
            return (places.count, places.reversed().flatMap { Self.end($0, in: &state) })
        }
        for channel in channels { channel.close(promise: nil) }
        return count
    }

    /// Returns the connections to close.
    private static func end(_ place: Int, isBetrayed: Bool = false, in state: inout State) -> [any Channel] {
        let session = state.sessions.remove(at: place)
        if isBetrayed {
            state.betrayed.append(session.cookie)
            if state.betrayed.count > self.countMax { state.betrayed.removeFirst() }
        }
        return Array(session.channels.values)
    }
}

/// Text that nobody can guess.
enum RandomText {
    static func hexadecimal(byteCount: Int) throws -> String {
        guard var entropy = EntropyStream(seed: SystemEntropy.seed()) else { throw PeerdError.noRandomness }
        return Hexadecimal.text(entropy.bytes(byteCount))
    }
}
