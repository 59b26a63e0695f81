internal import CProgramMemory
internal import Glibc

/// Memory that a daemon needs while it starts or works, and not while it waits.
enum ProgramMemory {
    /// How long after the start, and how often then, the daemon looks whether it is idle.
    private static let firstDelay = Duration.seconds(2)
    private static let interval = Duration.seconds(60)
    /// Idle is who used less than this part of the time.
    private static let idleShare = 0.01

    /// Gives memory back after the start, and whenever work has come to its end; returns when the task is cancelled.
    ///
    /// Of the code that runs in the first second, such as what reads the arguments, most is not needed again.
    static func giveBackWhenIdle() async {
        try? await Task.sleep(for: self.firstDelay)
        if !Task.isCancelled { peerd_program_memory_give_back() }
        var (used, hasWorked) = (self.processorTime, false)
        while (try? await Task.sleep(for: self.interval)) != nil {
            let share = (self.processorTime - used) / self.interval
            if share >= self.idleShare {
                hasWorked = true
            } else if hasWorked {
                peerd_program_memory_give_back()
                hasWorked = false
            }
            used = self.processorTime
        }
    }

    private static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
