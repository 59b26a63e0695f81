internal import CRDTCore
package import Engine
internal import Foundation
internal import PeerCrypto
internal import PeerTransport

/// Joins a workspace with an invite: dials its addresses in turn and runs the pairing handshake.
package struct Pairing {
    package let invite: Invite
    package let deviceName: String
    /// Those of the user who joins, if it is another person than whoever invites.
    package let words: RecoveryWords
    /// Whether he must be the user of these words, also with an invite for a machine of whoever invites.
    package let isRecovery: Bool

    package init(invite: Invite, deviceName: String, words: RecoveryWords, isRecovery: Bool = false) {
        self.invite = invite
        self.deviceName = deviceName
        (self.words, self.isRecovery) = (words, isRecovery)
    }

    private static let dialTimeout = Duration.seconds(5)
    /// For the whole conversation with one address.
    private static let conversationTimeout = Duration.seconds(15)

    /// Joins, and writes the keys of the new workspace; a directory that is made for them goes if that fails.
    ///
    /// Returns the address that answered.
    package func join(_ paths: DirectoryPaths) async throws -> NetworkAddress {
        let isNew = access(paths.directory, F_OK) != 0
        try PrivateFile.makeDirectory(paths.directory)
        do {
            return try await self.dial(paths)
        } catch {
            // One with anything in it stays.
            if isNew { rmdir(paths.directory) }
            throw error
        }
    }

    private func dial(_ paths: DirectoryPaths) async throws -> NetworkAddress {
        var reasons: [String] = []
        var wasTurnedAway = false
        for host in self.invite.addresses {
            let address = PeerAddress(host: host, port: self.invite.port)
            switch try await self.attempt(address, paths) {
            case .joined: return NetworkAddress(host: host, port: self.invite.port)
            case .turnedAway: wasTurnedAway = true
            case .unreachable(let reason): reasons.append("\(address): \(reason)")
            case .refused(let reason):
                throw PeerdError(
                    .joinRefused,
                    "The other machine refused this one: \(reason).",
                    advice: "Make a new invite there."
                )
            }
        }
        if wasTurnedAway {
            throw PeerdError(
                .inviteSpent,
                """
                The other machine closed the connection without a reason: the invite has been used already, is older \
                than ten minutes, or gave way when too many were open; or strangers come there too often.
                """,
                advice: "Try again, or make a new invite there."
            )
        }
        throw PeerdError(
            .unreachable,
            "The inviting machine was not reached (\(reasons.joined(separator: "; "))).",
            advice: "Check that it syncs, and that the network is up."
        )
    }

    private enum Attempt {
        case joined
        /// Someone listens there, and hung up: strangers get no reason.
        case turnedAway
        case unreachable(String)
        case refused(String)
    }

    private func attempt(_ address: PeerAddress, _ paths: DirectoryPaths) async throws -> Attempt {
        let (events, sink) = AsyncStream.makeStream(of: TransportEvent?.self)
        let transport = TCPTransport(events: { sink.yield($0) })
        let alarm = Task {
            try await Task.sleep(for: Self.conversationTimeout)
            sink.yield(nil)
        }
        let attempt: Attempt
        do {
            attempt = try await self.converse(address, transport, events, paths)
        } catch {
            alarm.cancel()
            await transport.shutdown()
            throw error
        }
        alarm.cancel()
        await transport.shutdown()
        return attempt
    }

    /// `events` is what the transport reports, and nil when time is up.
    private func converse(
        _ address: PeerAddress,
        _ transport: TCPTransport,
        _ events: AsyncStream<TransportEvent?>,
        _ paths: DirectoryPaths
    ) async throws -> Attempt {
        guard let entropy = EntropyStream(seed: SystemEntropy.seed()),
            var session = JoinSession(
                invite: self.invite,
                deviceName: self.deviceName,
                root: self.words.rootKey(),
                entropy: entropy
            )
        else { throw PeerdError.noRandomness }
        let connection = TransportID(rawValue: 1)
        transport.dial(connection, address, timeout: Self.dialTimeout)
        var hasJoined = false
        var isConnected = false
        for await event in events {
            switch event {
            case nil: return hasJoined ? .joined : .unreachable("it did not answer in time")
            case .connected?:
                isConnected = true
                transport.send(connection, session.start())
            case .dialFailed(_, let failure)?: return .unreachable(failure.description)
            case .closed(_, let reason)?:
                if hasJoined { return .joined }
                return isConnected ? .turnedAway : .unreachable(reason.description)
            case .accepted?, .sent?: break
            case .received(_, let bytes)?:
                transport.resumeReading(connection, byteCount: bytes.count)
                if hasJoined { break }
                switch session.received(bytes, now: SystemClock.now().monotonicMilliseconds) {
                case .send(let answer): transport.send(connection, answer)
                case .failed(let reason): return .refused(reason)
                case .joined(let identity, _, let goodbye):
                    if self.isRecovery, identity.user != UserID(self.words.rootKey()) {
                        return .refused("it is a machine of another user than that of the recovery words")
                    }
                    try await NewWorkspace.create(identity, at: paths)
                    hasJoined = true
                    transport.send(connection, goodbye)
                    transport.close(connection, afterFlush: true)
                }
            }
        }
        return .unreachable("the connection ended")
    }
}
