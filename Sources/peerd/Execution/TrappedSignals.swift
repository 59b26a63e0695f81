internal import Dispatch
internal import Glibc
internal import Synchronization

/// Signals that this program handles itself, in the order in which they arrive.
final class TrappedSignals: Sendable {
    private let sources: Mutex<[any DispatchSourceSignal]>

    private init(_ sources: sending [any DispatchSourceSignal]) { self.sources = Mutex(sources) }

    /// Traps signals for as long as the sequence is used.
    ///
    /// When this returns, a signal no longer ends the program. One that whoever started the program has it ignore, as
    /// `nohup` does, is ignored still.
    static func trap(_ numbers: Int32...) async -> AsyncStream<Int32> {
        let (signals, continuation) = AsyncStream.makeStream(of: Int32.self)
        var sources: [any DispatchSourceSignal] = []
        for number in numbers where !self.isIgnored(number) {
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield(number) }
            // The system traps a signal some time after `activate`.
            await withCheckedContinuation { registered in
                source.setRegistrationHandler { registered.resume() }
                source.activate()
            }
            sources.append(source)
        }
        let trapped = TrappedSignals(sources)
        continuation.onTermination = { _ in trapped.end() }
        return signals
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var current = sigaction()
        guard sigaction(number, nil, &current) == 0, let handler = current.__sigaction_handler.sa_handler else {
            return false
        }
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    private func end() {
        self.sources.withLock { sources in
            for source in sources { source.cancel() }
            sources = []
        }
    }
}
