# Run in this folder: gnuplot predicted_measured.gnuplot
set encoding utf8
set grid lc rgb '#DDDDDD'
set key outside right top noenhanced
set bmargin 8
set label 1 'a cpu''s caption, commit 0123456789ab' at screen 0.02, 0.03 noenhanced tc rgb '#555555'
set title 'Predicted against measured'
set xlabel 'measured time (ms)'
set ylabel 'predicted time (ms)'
set logscale xy
stats 'predicted_measured.dat' using 1 nooutput name 'M'
stats 'predicted_measured.dat' using 2 nooutput name 'P'
low = 0.7 * (M_min < P_min ? M_min : P_min)
high = 1.4 * (M_max > P_max ? M_max : P_max)
set xrange [low:high]
set yrange [low:high]
set terminal svg size 1000,600 font 'sans,12' background rgb 'white' noenhanced
set output 'predicted_measured.svg'
plot '+' using 1:($1*0.9):($1*1.1) with filledcurves fc rgb '#E8E8E8' title '±10 %', x with lines lc rgb '#888888' title 'y = x', 'predicted_measured.dat' index 0 using 1:2 with points lc rgb '#0072B2' pt 7 ps 0.7 title 'fixed-split:fa2', 'predicted_measured.dat' index 1 using 1:2 with points lc rgb '#D55E00' pt 5 ps 0.7 title 'fa2', 'predicted_measured.dat' index 2 using 1:2 with points lc rgb '#009E73' pt 9 ps 0.7 title 'lean'
set terminal pngcairo size 1000,600 font 'sans,10' background rgb 'white' noenhanced
set output 'predicted_measured.png'
plot '+' using 1:($1*0.9):($1*1.1) with filledcurves fc rgb '#E8E8E8' title '±10 %', x with lines lc rgb '#888888' title 'y = x', 'predicted_measured.dat' index 0 using 1:2 with points lc rgb '#0072B2' pt 7 ps 0.7 title 'fixed-split:fa2', 'predicted_measured.dat' index 1 using 1:2 with points lc rgb '#D55E00' pt 5 ps 0.7 title 'fa2', 'predicted_measured.dat' index 2 using 1:2 with points lc rgb '#009E73' pt 9 ps 0.7 title 'lean'
set output
