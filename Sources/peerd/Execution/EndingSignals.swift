internal import Foundation

/// The signals that ask a program to end.
enum EndingSignals {
    private enum Ending<Result: Sendable>: Sendable {
        case finished(Result)
        case signal(Int32)
    }

    /// Does work that leaves something behind if the program ends in the middle of it.
    ///
    /// A signal cancels the work. When it has ended, the program ends by the same signal.
    static func cancelling<Result: Sendable>(
        _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let signals = await TrappedSignals.trap(SIGINT, SIGTERM, SIGHUP)
        return try await withThrowingTaskGroup(of: Ending<Result>.self) { group in
            group.addTask { .finished(try await work()) }
            group.addTask {
                for await signal in signals { return .signal(signal) }
                throw CancellationError()
            }
            let first = try await group.next()
            group.cancelAll()
            switch first {
            case .finished(let result): return result
            case .signal(let number):
                while let rest = await group.nextResult() {
                    // The work may have ended in the meantime.
                    if case .success(.finished(let result)) = rest { return result }
                }
                self.end(by: number)
            case nil: break
            }
            throw CancellationError()
        }
    }

    /// Ends the program as if nobody had caught the signal.
    private static func end(by number: Int32) {
        signal(number, SIG_DFL)
        raise(number)
        // The threads that run tasks block all signals.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, number)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }
}
